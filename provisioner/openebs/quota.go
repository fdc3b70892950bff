package openebs

import (
	"errors"
	"fmt"
	"hash/fnv"
	"math"
	"regexp"
	"strconv"
	"strings"
)

// quota limits what a volume may hold.
type quota struct {
	// kind is the setting that asks for it: keyXFSQuota or keyEXT4Quota.
	kind string
	// soft and hard are limits like "6291456k"; "0k" means no limit.
	soft, hard string
	// project is the number that the file system knows the volume by.
	project uint32
}

// newQuota computes the limits of a volume of so many bytes.
//
// Upstream: helper_hostpath.go createQuotaPod.
func newQuota(kind, volumeName, softLimitGrace, hardLimitGrace string, size int64) (*quota, error) {
	q := &quota{kind: kind, project: projectOf(volumeName)}
	var err error
	if q.soft, err = convertToK(softLimitGrace, size); err != nil {
		return nil, err
	}
	if q.hard, err = convertToK(hardLimitGrace, size); err != nil {
		return nil, err
	}
	return q, q.validateLimits(size)
}

// validateLimits gives a volume without any limit its size as both, and refuses
// a soft limit above the hard one.
//
// Upstream: helper_hostpath.go validateLimits.
func (q *quota) validateLimits(size int64) error {
	if q.soft == noLimit && q.hard == noLimit {
		exactly := strconv.FormatFloat(math.Ceil(float64(size)/1024), 'f', -1, 64) + "k"
		q.soft, q.hard = exactly, exactly
	}
	if q.soft == noLimit || q.hard == noLimit {
		return nil
	}
	if len(q.soft) > len(q.hard) || len(q.soft) == len(q.hard) && q.soft > q.hard {
		return errors.New("hard limit cannot be smaller than soft limit")
	}
	return nil
}

// noLimit is the limit that no grace gives.
const noLimit = "0k"

// convertToK returns the limit that lets a volume grow by a percentage beyond its
// size, in kilobytes. More than 100% acts as 100%.
//
// Upstream: helper_hostpath.go convertToK.
func convertToK(grace string, size int64) (string, error) {
	if grace == "" {
		return noLimit, nil
	}
	number, isPercentage := strings.CutSuffix(grace, "%")
	if wellFormed, err := regexp.MatchString(`^\d*\.?\d*$`, number); err != nil || !wellFormed || !isPercentage {
		return "", errors.New("invalid format for limit grace")
	}
	percent, err := strconv.ParseFloat(number, 64)
	if err != nil { // out of range, or no digits
		return "", errors.New("invalid format, cannot parse")
	}
	bytes := float64(size) * (1 + min(percent, 100)/100)
	return strconv.FormatFloat(math.Ceil(bytes/1024), 'f', -1, 64) + "k", nil
}

// projectOf returns the project number of a volume: the same at every try, and rarely
// that of another one. Upstream asks the file system for its highest one, in
// shell.
func projectOf(volumeName string) uint32 {
	hash := fnv.New32a()
	_, _ = hash.Write([]byte(volumeName)) // it never fails
	return max(1, hash.Sum32())
}

// script sets the limits of the directory, which a pod sees at /data/. It is the
// part of upstream's script for the one file system that the class names.
//
// Upstream: helper_hostpath.go createQuotaPod.
func (q *quota) script(dir string) string {
	path := "/data/" + dir
	if q.kind == keyXFSQuota {
		return fmt.Sprintf("set -e\nxfs_quota -x -c 'project -s -p %s %d' /data\nxfs_quota -x -c 'limit -p bsoft=%s bhard=%s %d' /data",
			path, q.project, q.soft, q.hard, q.project)
	}
	return fmt.Sprintf("set -e\nchattr +P -p %d %s\nsetquota -P %d %s %s 0 0 /data",
		q.project, path, q.project, strings.ToUpper(q.soft), strings.ToUpper(q.hard))
}
