package main

import "syscall"

// free is how many bytes and files the disk of a folder has left for us.
func free(dir string) (bytes, inodes uint64, err error) {
	var s syscall.Statfs_t
	if err := syscall.Statfs(dir, &s); err != nil {
		return 0, 0, err
	}
	if s.Files == 0 { // a file system that makes them as it goes
		return s.Bavail * uint64(s.Bsize), 1 << 32, nil
	}
	return s.Bavail * uint64(s.Bsize), s.Ffree, nil
}
