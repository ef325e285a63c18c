//! A disk in memory that forgets what was not synced when power is lost, and that may be full.

use std::io;
use std::ops::Range;
use std::sync::{Arc, Mutex};

use redb::StorageBackend;

/// What is on a disk, for each process that opens it.
#[derive(Clone, Debug)]
pub(crate) struct SimulatedDisk(Arc<Mutex<Image>>);

#[derive(Debug, Default)]
struct Image {
    written: Vec<u8>,
    synced: Vec<u8>,
    /// Which opening may write: those before lost power.
    opening: u64,
    is_full: bool,
}

impl SimulatedDisk {
    pub(crate) fn new() -> Self {
        Self(Arc::default())
    }

    /// The file, as a process opens it.
    pub(crate) fn open(&self) -> impl StorageBackend + use<> {
        let opening = self.0.lock().unwrap().opening;
        Opened { disk: self.clone(), opening }
    }

    pub(crate) fn lose_power(&self, is_unsynced_lost: bool) {
        let image = &mut *self.0.lock().unwrap();
        image.opening += 1;
        if is_unsynced_lost {
            image.written.clone_from(&image.synced);
        } else {
            image.synced.clone_from(&image.written);
        }
    }

    pub(crate) fn set_full(&self, is_full: bool) {
        self.0.lock().unwrap().is_full = is_full;
    }
}

#[derive(Debug)]
struct Opened {
    disk: SimulatedDisk,
    opening: u64,
}

impl Opened {
    fn with<T>(&self, act: impl FnOnce(&mut Image) -> io::Result<T>) -> Result<T, io::Error> {
        let image = &mut *self.disk.0.lock().unwrap();
        if image.opening != self.opening {
            return Err(io::Error::other("the power was lost"));
        }
        act(image)
    }
}

fn range(offset: u64, bytes: usize) -> Range<usize> {
    let from = usize::try_from(offset).unwrap();
    from..from + bytes
}

fn check_room(image: &Image) -> io::Result<()> {
    if image.is_full { Err(io::ErrorKind::StorageFull.into()) } else { Ok(()) }
}

impl StorageBackend for Opened {
    fn len(&self) -> Result<u64, io::Error> {
        self.with(|image| Ok(image.written.len() as u64))
    }

    fn read(&self, offset: u64, out: &mut [u8]) -> Result<(), io::Error> {
        self.with(|image| {
            let found = image.written.get(range(offset, out.len())).ok_or(io::ErrorKind::UnexpectedEof)?;
            out.copy_from_slice(found);
            Ok(())
        })
    }

    fn set_len(&self, len: u64) -> Result<(), io::Error> {
        self.with(|image| {
            check_room(image)?;
            image.written.resize(usize::try_from(len).unwrap(), 0);
            Ok(())
        })
    }

    fn sync_data(&self) -> Result<(), io::Error> {
        self.with(|image| {
            check_room(image)?;
            image.synced.clone_from(&image.written);
            Ok(())
        })
    }

    fn write(&self, offset: u64, data: &[u8]) -> Result<(), io::Error> {
        self.with(|image| {
            check_room(image)?;
            let place = image.written.get_mut(range(offset, data.len())).ok_or(io::ErrorKind::UnexpectedEof)?;
            place.copy_from_slice(data);
            Ok(())
        })
    }
}
