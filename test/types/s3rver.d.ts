declare module 's3rver' {
  import type { RequestListener } from 'node:http'

  type Place = { port?: number; address?: string; silent: boolean; vhostBuckets?: boolean; directory: string }

  /** What the tests use of it. */
  export default class S3rver {
    constructor(options: Place & { configureBuckets: { name: string }[] })
    run(): Promise<{ port: number }>
    close(): Promise<void>
    configureBuckets(): Promise<unknown>
    callback(): RequestListener
    logger: { exceptions: { unhandle(): void }; close(): void }
  }
}
