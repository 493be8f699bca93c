import {
  AbortMultipartUploadCommand,
  DeleteObjectCommand,
  ListMultipartUploadsCommand,
  paginateListObjectsV2,
  type S3Client,
} from '@aws-sdk/client-s3'
import { isRefused, storageFailure } from './s3-client.ts'

/** Objects are deleted one by one: the request that deletes a thousand needs checksums, which not every server computes alike. */
const AT_ONCE = 10

/** The prefix of all objects of one file. */
export type FilePrefix = { client: S3Client; bucket: string; prefix: string }
/** An upload that is not finished: its part is being written, or its process has died. */
type UnfinishedUpload = { name: string; uploadId: string }

/** Name after the prefix -> bytes. */
export async function listObjects({ client, bucket, prefix }: FilePrefix): Promise<Map<string, number>> {
  const found = new Map<string, number>()
  try {
    for await (const page of paginateListObjectsV2({ client }, { Bucket: bucket, Prefix: prefix }))
      for (const { Key = '', Size = 0 } of page.Contents ?? []) found.set(Key.slice(prefix.length), Size)
  } catch (error) {
    throw storageFailure(error)
  }
  return found
}

/** A server that refuses the list applies its own rules to unfinished uploads. */
export async function listUnfinished({ client, bucket, prefix }: FilePrefix): Promise<UnfinishedUpload[]> {
  const found: UnfinishedUpload[] = []
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
    throw storageFailure(error)
  }
}

async function each<T>(items: T[], act: (item: T) => Promise<unknown>): Promise<void> {
  const rest = [...items]
  const work = async () => {
    for (let item = rest.shift(); item !== undefined; item = rest.shift()) await act(item)
  }
  await Promise.all(Array.from({ length: AT_ONCE }, work)).catch(error => {
    throw storageFailure(error)
  })
}

export const deleteObjects = ({ client, bucket, prefix }: FilePrefix, names: string[]): Promise<void> =>
  each(names, name => client.send(new DeleteObjectCommand({ Bucket: bucket, Key: prefix + name })))

export const abortUploads = ({ client, bucket, prefix }: FilePrefix, unfinished: UnfinishedUpload[]): Promise<void> =>
  each(unfinished, ({ name, uploadId }) =>
    client.send(new AbortMultipartUploadCommand({ Bucket: bucket, Key: prefix + name, UploadId: uploadId })).catch(error => {
      // Another process finished or aborted the upload meanwhile.
      if ((error as Error).name !== 'NoSuchUpload') throw error
    }),
  )
