import type { FileHandle } from 'node:fs/promises'

/** The bytes after which a sync begins. At 200 MB/s, a part of 30 MB would otherwise take 150 ms at its end, and the database waits meanwhile. */
const SYNC_BYTES = 8 * 1024 * 1024

type Syncing = Pick<FileHandle, 'datasync' | 'sync'>

/**
 * Syncs the beginning of a file while the rest is being written. One file of a storage is synced at a time, because a sync uses one of the
 * few threads of the process.
 */
export function writeBehind() {
  let isBusy = false

  return (handle: Syncing) => {
    let unsynced = 0
    let failure: { error: unknown } | undefined
    let syncing: Promise<void> = Promise.resolve()
    return {
      /** Adds the number of bytes that were written. */
      written(bytes: number): void {
        unsynced += bytes
        if (unsynced < SYNC_BYTES || isBusy) return
        unsynced = 0
        isBusy = true
        syncing = handle
          .datasync()
          .catch(error => {
            // The system reports an error once: the last sync may succeed.
            failure ??= { error }
          })
          .finally(() => {
            isBusy = false
          })
      },
      /** Resolves when all written bytes are durable. */
      async finish(): Promise<void> {
        await syncing
        if (failure) throw failure.error
        await handle.sync()
      },
    }
  }
}
