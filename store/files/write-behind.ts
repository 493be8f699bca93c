import type { FileHandle } from 'node:fs/promises'

/** At 200 MB/s, a part of 30 MB would otherwise take 150 ms at its end, during which the database stands still. */
const SYNC_BYTES = 8 * 1024 * 1024

type Syncing = Pick<FileHandle, 'datasync' | 'sync'>

/**
 * Makes the beginning of a file durable while the rest is being written. Of all files of a storage one is synced at a time, because a sync holds
 * one of the few threads of the process.
 */
export function writeBehind() {
  let isBusy = false

  return (handle: Syncing) => {
    let unsynced = 0
    let failure: { error: unknown } | undefined
    let syncing: Promise<void> = Promise.resolve()
    return {
      /** So many bytes more were written. */
      written(bytes: number): void {
        unsynced += bytes
        if (unsynced < SYNC_BYTES || isBusy) return
        unsynced = 0
        isBusy = true
        syncing = handle
          .datasync()
          .catch(error => {
            // The system tells of an error once: the last sync may succeed.
            failure ??= { error }
          })
          .finally(() => {
            isBusy = false
          })
      },
      /** Resolves when all that was written is durable. */
      async finish(): Promise<void> {
        await syncing
        if (failure) throw failure.error
        await handle.sync()
      },
    }
  }
}
