/** Places in the head of a 64-bit ELF file, and in one of its program headers. */
const [PROGRAM_HEADERS, SECTION_HEADERS, PROGRAM_HEADER_SIZE, PROGRAM_HEADER_COUNT, SECTION_COUNT, SECTION_NAMES] = [32, 40, 54, 56, 60, 62]
const [OFFSET, SIZE] = [8, 32]
const ELF_64_LITTLE = Buffer.from([0x7f, 0x45, 0x4c, 0x46, 2, 1])

/**
 * A program or library without its symbols and debug information, which stand behind everything that is ever loaded; null: it is none, or has none. Node
 * loses 18 MB, DuckDB 11. What libraries offer to each other is loaded, so it stays.
 */
export function withoutSymbols(file: Buffer): Buffer | null {
  if (!file.subarray(0, ELF_64_LITTLE.length).equals(ELF_64_LITTLE)) return null
  const first = Number(file.readBigUInt64LE(PROGRAM_HEADERS))
  const [size, count] = [file.readUInt16LE(PROGRAM_HEADER_SIZE), file.readUInt16LE(PROGRAM_HEADER_COUNT)]
  const headers = Array.from({ length: count }, (_, i) => first + i * size)
  const ends = headers.map(at => Number(file.readBigUInt64LE(at + OFFSET)) + Number(file.readBigUInt64LE(at + SIZE)))
  const end = Math.max(first + count * size, ...ends)
  if (end >= file.length) return null
  const cut = Buffer.from(file.subarray(0, end))
  cut.writeBigUInt64LE(0n, SECTION_HEADERS)
  cut.writeUInt16LE(0, SECTION_COUNT)
  cut.writeUInt16LE(0, SECTION_NAMES)
  return cut
}
