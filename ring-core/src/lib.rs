//! Both sides of a virtqueue.
