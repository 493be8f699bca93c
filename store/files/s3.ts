import { createReadStream, createWriteStream } from 'node:fs'
import { mkdir, rm, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import type { S3Client } from '@aws-sdk/client-s3'
import { Upload } from '@aws-sdk/lib-storage'
import { removeAbandoned, temporaryName } from '../embedded/temporary.ts'
import { type S3Options, storageClient, storageFailure } from './s3-client.ts'
import { abortUploads, deleteObjects, type FilePrefix, listObjects, listUnfinished } from './s3-list.ts'
import { readObject } from './s3-read.ts'
import { readSections } from './sections.ts'
import { type FileStorage, NAME } from './storage.ts'

/** Memory of an upload: the chunks that are being sent, one that is being filled, and one that is being copied. */
const CHUNK_BYTES = 8 * 1024 * 1024
const CHUNKS_AT_ONCE = 2
const TEMPORARY = '.s3-'

/** `folder`: an existing folder on the local disk, for programs that work on files. */
export type S3StorageOptions = S3Options & { folder: string }

/** Uploads the content. The object exists when the upload is complete. A failed upload is aborted, as far as the server can be reached. */
async function upload(client: S3Client, Bucket: string, Key: string, content: AsyncIterable<Uint8Array>, signal: AbortSignal) {
  let bytes = 0
  let failure: { error: unknown } | undefined
  async function* counted() {
    const source = content[Symbol.asyncIterator]()
    try {
      for (;;) {
        const chunk = await source.next().catch(error => {
          failure = { error }
          throw error
        })
        if (chunk.done) return
        signal.throwIfAborted()
        bytes += chunk.value.length
        yield chunk.value
      }
    } finally {
      await source.return?.()
    }
  }
  const Body = Readable.from(counted(), { objectMode: false })
  // The reader gets the error of the stream. When the server failed first, there is no reader any more.
  Body.on('error', () => {})
  const abortController = new AbortController()
  const params = { Bucket, Key, Body }
  const uploading = new Upload({ client, params, abortController, partSize: CHUNK_BYTES, queueSize: CHUNKS_AT_ONCE })
  const abort = () => abortController.abort()
  signal.addEventListener('abort', abort, { once: true })
  try {
    signal.throwIfAborted()
    await uploading.done()
    return { bytes }
  } catch (error) {
    if (signal.aborted) throw signal.reason
    throw failure ? failure.error : storageFailure(error)
  } finally {
    signal.removeEventListener('abort', abort)
    Body.destroy()
  }
}

/** `probe` rejects when the bucket cannot be listed. */
export type S3Storage = FileStorage & { probe(): Promise<void>; close(): void }

/** Files in a bucket. Each part is one object; its key is: prefix, file, slash, part. */
export function s3Storage({ folder, ...options }: S3StorageOptions): S3Storage {
  const client = storageClient(options)
  const { bucket } = options
  const prefixOf = (file: string): FilePrefix => {
    if (!NAME.test(file)) throw new RangeError(`not a file name: ${file}`)
    return { client, bucket, prefix: `${options.prefix}${file}/` }
  }
  const keyOf = (file: string, name: string): string => {
    if (!NAME.test(name)) throw new RangeError(`not a file name: ${file}/${name}`)
    return prefixOf(file).prefix + name
  }
  const content = (file: string, name: string, start: number, end: number) =>
    readObject({ client, bucket, key: keyOf(file, name) }, start, end)

  const storage: FileStorage = {
    writePart: async (file, name, content, signal) => upload(client, bucket, keyOf(file, name), content, signal),

    async composePart(file, name, from, make) {
      await removeAbandoned(folder, TEMPORARY)
      const workplace = join(folder, temporaryName(TEMPORARY))
      await mkdir(workplace, { mode: 0o700 })
      try {
        const sizes = from.length > 0 ? await storage.sizes(file) : new Map<string, number>()
        const sources: string[] = []
        for (const part of from) {
          const source = join(workplace, part)
          await pipeline(content(file, part, 0, (sizes.get(part) ?? 1) - 1), createWriteStream(source, { mode: 0o600 }))
          sources.push(source)
        }
        const target = join(workplace, '.target')
        await make({ sources, target, spill: join(workplace, '.spill') })
        const { size } = await stat(target)
        const { bytes } = await storage.writePart(file, name, createReadStream(target), new AbortController().signal)
        if (bytes !== size) throw Object.assign(new Error(`${name} was cut short`), { code: 'EIO' })
        return { bytes }
      } finally {
        await rm(workplace, { recursive: true, force: true })
      }
    },

    read: async (file, parts, range) => readSections(parts, range, (name, start, end) => content(file, name, start, end)),

    async sizes(file) {
      const found = await listObjects(prefixOf(file))
      if (found.size === 0) throw Object.assign(new Error(`S3: ${file} has no parts`), { code: 'ENOENT' })
      return found
    },

    keepOnly: (file, names) => storage.prune(file, async present => present.filter(name => !names.includes(name))),

    async prune(file, garbage) {
      const [objects, unfinished] = await Promise.all([listObjects(prefixOf(file)), listUnfinished(prefixOf(file))])
      const names = new Set([...objects.keys(), ...unfinished.map(({ name }) => name)])
      if (names.size === 0) return
      const useless = new Set(await garbage([...names]))
      await abortUploads(
        prefixOf(file),
        unfinished.filter(({ name }) => useless.has(name)),
      )
      await deleteObjects(
        prefixOf(file),
        [...objects.keys()].filter(name => useless.has(name)),
      )
    },

    remove: file => storage.prune(file, async names => names),
  }
  return {
    ...storage,
    probe: () => listObjects(prefixOf('perennial-probe')).then(() => {}),
    close: () => client.destroy(),
  }
}
