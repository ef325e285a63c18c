"""CRC-32C (Castagnoli), which goes on from the CRC of what stood before."""

POLYNOMIAL = 0x82F63B78  # reflected


def _entry(byte):
    for _ in range(8):
        byte = (byte >> 1) ^ (POLYNOMIAL if byte & 1 else 0)
    return byte


_TABLE = [_entry(byte) for byte in range(256)]


def crc32c(data, before=0):
    """The CRC-32C of `data` behind bytes whose CRC-32C is `before`."""
    crc = before ^ 0xFFFFFFFF
    for byte in data:
        crc = (crc >> 8) ^ _TABLE[(crc ^ byte) & 0xFF]
    return crc ^ 0xFFFFFFFF
