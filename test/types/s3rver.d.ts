declare module 's3rver' {
  import type { RequestListener } from 'node:http'

  type ServerOptions = { port?: number; address?: string; silent: boolean; vhostBuckets?: boolean; directory: string }

  /** The part of s3rver that the tests use. */
  export default class S3rver {
    constructor(options: ServerOptions & { configureBuckets: { name: string }[] })
    run(): Promise<{ port: number }>
    close(): Promise<void>
    configureBuckets(): Promise<unknown>
    callback(): RequestListener
    logger: { exceptions: { unhandle(): void }; close(): void }
  }
}
