delete pod/web pod/backup

settle quiet
