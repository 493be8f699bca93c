declare module 's3rver' {
  import type { RequestListener } from 'node:http'
  import type { Readable } from 'node:stream'

  type ServerOptions = { port?: number; address?: string; silent: boolean; vhostBuckets?: boolean; directory: string }
  type StoredObject = { bucket: string; key: string; content: Buffer | Readable; metadata: Record<string, string> }

  /** The part of s3rver that the tests use. */
  export default class S3rver {
    constructor(options: ServerOptions & { configureBuckets: { name: string }[] })
    run(): Promise<{ port: number }>
    close(): Promise<void>
    configureBuckets(): Promise<unknown>
    callback(): RequestListener
    logger: { exceptions: { unhandle(): void }; close(): void }
    store: {
      getResourcePath(bucket: string, key: string, resource: 'object'): string
      putObject(object: StoredObject): Promise<{ size: number; md5: string }>
      putMetadata(bucket: string, key: string, metadata: StoredObject['metadata'], md5: string): Promise<void>
    }
  }
}
