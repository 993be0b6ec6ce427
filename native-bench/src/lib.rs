//! Drives a real virtio device with ring-core.
