import type { Readable } from 'node:stream'
import { GetObjectCommand, type S3Client } from '@aws-sdk/client-s3'
import { storageFailure } from './s3-client.ts'

/** A read is given up when the server sends nothing for this long. The time of a slow reader does not count. */
const STALL_MS = 60_000
const ATTEMPTS = 3

type StoredObject = { client: S3Client; bucket: string; key: string }

async function* contentOf({ client, bucket, key }: StoredObject, start: number, end: number): AsyncGenerator<Uint8Array> {
  const { Body, ContentRange } = await client.send(new GetObjectCommand({ Bucket: bucket, Key: key, Range: `bytes=${start}-${end}` }))
  const body = Body as Readable
  try {
    if (!ContentRange?.startsWith(`bytes ${start}-`)) throw new Error(`asked for bytes from ${start}, got ${ContentRange ?? 'everything'}`)
    const chunks = body[Symbol.asyncIterator]()
    for (;;) {
      const timer = setTimeout(() => body.destroy(Object.assign(new Error('nothing was sent'), { name: 'TimeoutError' })), STALL_MS)
      const chunk = await chunks.next().finally(() => clearTimeout(timer))
      if (chunk.done) return
      yield chunk.value
    }
  } finally {
    body.destroy()
  }
}

/** Bytes of an object, both inclusive. After a response that breaks off the read continues at the next byte: objects never change. */
export async function* readObject(object: StoredObject, start: number, end: number): AsyncGenerator<Uint8Array> {
  let at = start
  for (let failed = 0; at <= end; ) {
    try {
      for await (const chunk of contentOf(object, at, end)) {
        // A server may send more than the range.
        const wanted = chunk.subarray(0, end + 1 - at)
        at += wanted.length
        failed = 0
        if (wanted.length > 0) yield wanted
        if (at > end) return
      }
      throw new Error(`${object.key} has no more than ${at} bytes`)
    } catch (error) {
      const failure = storageFailure(error)
      if (++failed === ATTEMPTS || (failure as { code?: string }).code === 'ENOENT') throw failure
    }
  }
}
