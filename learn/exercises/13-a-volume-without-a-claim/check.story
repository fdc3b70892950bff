expect only Running in get pod web -o jsonpath={.status.phase}

expect "currency = CNY" in read pod/web:/etc/shop/shop.conf

expect '"name":"shop"' in get pod web -o 'jsonpath={.spec.volumes[*].configMap}{.spec.volumes[*].projected}'
