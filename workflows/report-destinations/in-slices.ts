/** The same bytes in slices of `size`; the last one is shorter, or empty where there are no bytes at all. Holds little more than one. */
export async function* inSlices(content: AsyncIterable<Uint8Array>, size: number): AsyncGenerator<{ slice: Uint8Array; isLast: boolean }> {
  let held: Uint8Array[] = []
  let length = 0
  for await (const chunk of content) {
    held.push(chunk)
    length += chunk.length
    // Not before there is more: whether a slice is the last one is to be known.
    while (length > size) {
      const all = Buffer.concat(held)
      yield { slice: all.subarray(0, size), isLast: false }
      held = [all.subarray(size)]
      length -= size
    }
  }
  yield { slice: Buffer.concat(held), isLast: true }
}
