//! A ZIP archive of a few files, stored as they are. Times are those of no clock, so that the same
//! files give the same bytes.

/// 1 January 1980, midnight, as MS-DOS has it.
const TIME: u16 = 0;
const DATE: u16 = 0x21;

/// File names are UTF-8.
const FLAGS: u16 = 1 << 11;

/// The version that a reader needs: 2.0.
const VERSION: u16 = 20;

/// An archive of files with their names; all of them together have less than 4 GB.
pub(super) fn archive(files: &[(String, Vec<u8>)]) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut directory = Vec::new();
    for (name, content) in files {
        let offset = bytes.len() as u32;
        let mut entry = Vec::new();
        for number in [VERSION, FLAGS, 0, TIME, DATE] {
            entry.extend(number.to_le_bytes());
        }
        entry.extend(checksum(content).to_le_bytes());
        entry.extend((content.len() as u32).to_le_bytes());
        entry.extend((content.len() as u32).to_le_bytes());
        entry.extend((name.len() as u16).to_le_bytes());
        entry.extend(0_u16.to_le_bytes());

        bytes.extend(b"PK\x03\x04");
        bytes.extend(&entry);
        bytes.extend(name.as_bytes());
        bytes.extend(content);

        directory.extend(b"PK\x01\x02");
        directory.extend(VERSION.to_le_bytes());
        directory.extend(&entry);
        // No comment, disk 0, no attributes.
        directory.extend([0; 10]);
        directory.extend(offset.to_le_bytes());
        directory.extend(name.as_bytes());
    }

    let (start, size, count) = (bytes.len() as u32, directory.len() as u32, files.len() as u16);
    bytes.extend(directory);
    bytes.extend(b"PK\x05\x06\0\0\0\0");
    bytes.extend(count.to_le_bytes());
    bytes.extend(count.to_le_bytes());
    bytes.extend(size.to_le_bytes());
    bytes.extend(start.to_le_bytes());
    bytes.extend(0_u16.to_le_bytes());
    bytes
}

/// The checksum CRC-32 of ISO 3309.
fn checksum(bytes: &[u8]) -> u32 {
    let table: Vec<u32> = (0..256_u32)
        .map(|byte| {
            let step =
                |rest: u32, _| if rest & 1 == 1 { 0xEDB8_8320 ^ (rest >> 1) } else { rest >> 1 };
            (0..8).fold(byte, step)
        })
        .collect();
    let step =
        |rest: u32, byte: &u8| table[((rest ^ u32::from(*byte)) & 0xFF) as usize] ^ (rest >> 8);
    !bytes.iter().fold(!0, step)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_checksum_has_its_published_check_value() {
        assert_eq!(checksum(b"123456789"), 0xCBF4_3926);
    }

    #[test]
    fn an_archive_has_its_files_and_a_directory() {
        let files = [("a.txt".to_string(), b"one".to_vec()), ("b".to_string(), Vec::new())];
        let bytes = archive(&files);
        // Headers of 30, 46 and 22 bytes, names twice, content once.
        assert_eq!(bytes.len(), 2 * (30 + 46) + 22 + 2 * (5 + 1) + 3);
        assert!(bytes.windows(3).any(|window| window == b"one"));
        assert_eq!(&bytes[bytes.len() - 22..][..4], b"PK\x05\x06");
    }
}
