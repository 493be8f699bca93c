import { createHash } from 'node:crypto'
import { createWriteStream } from 'node:fs'
import { mkdir } from 'node:fs/promises'
import { dirname } from 'node:path'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import S3rver from 's3rver'

/**
 * An s3rver with one bucket whose files are in the folder. By itself it responds to a PUT before the file is open: when the folder of the
 * key is removed in this moment, as that of its last object, the whole process ends. Here it responds when the file is written. What had
 * arrived from a client that died stays: the product must remove it.
 */
export async function s3Storage(directory: string, bucket: string): Promise<S3rver> {
  const server = new S3rver({ directory, silent: true, vhostBuckets: false, configureBuckets: [{ name: bucket }] })
  const { store } = server
  store.putObject = async ({ bucket, key, content, metadata }) => {
    const path = store.getResourcePath(bucket, key, 'object')
    const hash = createHash('md5')
    let size = 0
    async function* counted(chunks: AsyncIterable<Buffer>) {
      for await (const chunk of chunks) {
        hash.update(chunk)
        size += chunk.length
        yield chunk
      }
    }
    await mkdir(dirname(path), { recursive: true })
    await pipeline(Readable.from(Buffer.isBuffer(content) ? [content] : content), counted, createWriteStream(path))
    const md5 = hash.digest('hex')
    await store.putMetadata(bucket, key, metadata, md5)
    return { size, md5 }
  }
  await server.configureBuckets()
  return server
}
