import {
  AbortMultipartUploadCommand,
  DeleteObjectCommand,
  ListMultipartUploadsCommand,
  paginateListObjectsV2,
  type S3Client,
} from '@aws-sdk/client-s3'
import { failureOf, isRefused } from './s3-client.ts'

/** One by one: what deletes a thousand in one request wants checksums that not every server agrees about. */
const AT_ONCE = 10

export type Place = { client: S3Client; bucket: string; prefix: string }
/** An upload that was not finished: of a part under way, or of a process that has died. */
export type Unfinished = { name: string; uploadId: string }

/** Names after the prefix -> bytes. */
export async function listObjects({ client, bucket, prefix }: Place): Promise<Map<string, number>> {
  const found = new Map<string, number>()
  try {
    for await (const page of paginateListObjectsV2({ client }, { Bucket: bucket, Prefix: prefix }))
      for (const { Key = '', Size = 0 } of page.Contents ?? []) found.set(Key.slice(prefix.length), Size)
  } catch (error) {
    throw failureOf(error)
  }
  return found
}

/** A server that does not tell, or not to us, is left to its own rules for what is never finished. */
export async function listUnfinished({ client, bucket, prefix }: Place): Promise<Unfinished[]> {
  const found: Unfinished[] = []
  let marker: { KeyMarker?: string | undefined; UploadIdMarker?: string | undefined } = {}
  try {
    for (;;) {
      const page = await client.send(new ListMultipartUploadsCommand({ Bucket: bucket, Prefix: prefix, ...marker }))
      for (const { Key = '', UploadId = '' } of page.Uploads ?? [])
        if (Key.startsWith(prefix)) found.push({ name: Key.slice(prefix.length), uploadId: UploadId })
      if (!page.IsTruncated) return found
      marker = { KeyMarker: page.NextKeyMarker, UploadIdMarker: page.NextUploadIdMarker }
    }
  } catch (error) {
    if (isRefused(error)) return found
    throw failureOf(error)
  }
}

async function each<T>(items: T[], act: (item: T) => Promise<unknown>): Promise<void> {
  const rest = [...items]
  const work = async () => {
    for (let item = rest.shift(); item !== undefined; item = rest.shift()) await act(item)
  }
  await Promise.all(Array.from({ length: AT_ONCE }, work)).catch(error => {
    throw failureOf(error)
  })
}

export const deleteObjects = ({ client, bucket, prefix }: Place, names: string[]): Promise<void> =>
  each(names, name => client.send(new DeleteObjectCommand({ Bucket: bucket, Key: prefix + name })))

export const abortUploads = ({ client, bucket, prefix }: Place, unfinished: Unfinished[]): Promise<void> =>
  each(unfinished, ({ name, uploadId }) =>
    client.send(new AbortMultipartUploadCommand({ Bucket: bucket, Key: prefix + name, UploadId: uploadId })).catch(error => {
      // It was finished, or aborted by somebody else, meanwhile.
      if ((error as Error).name !== 'NoSuchUpload') throw error
    }),
  )
