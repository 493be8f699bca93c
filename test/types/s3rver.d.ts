declare module 's3rver' {
  import type { RequestListener } from 'node:http'

  /** What the tests use of it. */
  export default class S3rver {
    constructor(options: { directory: string; silent: boolean; vhostBuckets: boolean; configureBuckets: { name: string }[] })
    configureBuckets(): Promise<unknown>
    callback(): RequestListener
    logger: { exceptions: { unhandle(): void }; close(): void }
  }
}
