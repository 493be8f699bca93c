import { createReadStream } from 'node:fs'
import { mkdir, open, readdir, rename, rm, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { syncFolder } from '../embedded/folder.ts'
import { DISK_MARK, readDiskMark } from './disk-mark.ts'
import { readSections } from './sections.ts'
import { type FileStorage, NAME } from './storage.ts'
import { writeBehind } from './write-behind.ts'

/** Bytes of one write: each write costs a system call, and the database sends pieces of a few kilobytes. */
const WRITE_BYTES = 256 * 1024
const SPARE_BUFFERS = 4

/**
 * Files below `folder`: a file is a folder that contains its parts. Everything fails with code EIO while the folder does not have its
 * `mark`: then it is an empty mount point or another folder, in which files must be neither written nor taken for removed.
 */
export function diskStorage(folder: string, mark: string): FileStorage {
  const path = (file: string, name = '') => {
    if (!NAME.test(file) || (name !== '' && !NAME.test(name))) throw new RangeError(`not a file name: ${file}/${name}`)
    return join(folder, file, name)
  }

  const syncs = writeBehind()
  const spare: Buffer[] = []
  const partsOf = (file: string): Promise<string[]> =>
    readdir(path(file)).catch(error => {
      if (error.code === 'ENOENT') return []
      throw error
    })
  const requireMark = async () => {
    if ((await readDiskMark(folder)) !== mark)
      throw Object.assign(new Error(`the export files are not in ${folder}: it has no ${DISK_MARK} with ${mark}`), { code: 'EIO' })
  }
  /** The mark is read again after a removal: the folder may have been unmounted meanwhile. */
  const removing = async (work: () => Promise<void>) => {
    await requireMark()
    await work()
    await requireMark()
  }

  return {
    async writePart(file, name, content, signal) {
      await requireMark()
      await mkdir(path(file), { mode: 0o700 }).catch(error => {
        if (error.code !== 'EEXIST') throw error
      })
      const handle = await open(path(file, name), 'w', 0o600)
      // A new buffer would stay in memory until the next garbage collection.
      const buffer = spare.pop() ?? Buffer.allocUnsafeSlow(WRITE_BYTES)
      try {
        const durable = syncs(handle)
        let bytes = 0
        let filled = 0
        const flush = async () => {
          for (let from = 0; from < filled; ) from += (await handle.write(buffer, from, filled - from)).bytesWritten
          bytes += filled
          durable.written(filled)
          filled = 0
        }
        for await (const chunk of content) {
          signal.throwIfAborted()
          for (let from = 0; from < chunk.length; ) {
            const piece = chunk.subarray(from, from + WRITE_BYTES - filled)
            buffer.set(piece, filled)
            filled += piece.length
            from += piece.length
            if (filled === WRITE_BYTES) await flush()
          }
        }
        await flush()
        await durable.finish()
        // The folder may have been unmounted before the part was opened: then the part is in the empty mount point.
        await requireMark()
        return { bytes }
      } finally {
        await handle.close()
        if (spare.length < SPARE_BUFFERS) spare.push(buffer)
      }
    },

    async composePart(file, name, from, make) {
      await requireMark()
      // In the folder of the parts, so that the new part is only renamed; the name begins with a dot, so that a backup skips it.
      const workplace = join(path(file), `.${name}`)
      const target = join(workplace, 'target')
      await rm(workplace, { recursive: true, force: true })
      await mkdir(workplace, { mode: 0o700 })
      try {
        const sources = from.map(part => path(file, part))
        await make({ sources, target, spill: join(workplace, 'spill') })
        const handle = await open(target, 'r+')
        try {
          await handle.chmod(0o600)
          await handle.sync()
        } finally {
          await handle.close()
        }
        const { size: bytes } = await stat(target)
        await rename(target, path(file, name))
        await syncFolder(path(file))
        return { bytes }
      } finally {
        await rm(workplace, { recursive: true, force: true })
      }
    },

    async read(file, parts, range) {
      await requireMark()
      return readSections(parts, range, (name, start, end) => createReadStream(path(file, name), { start, end }))
    },

    async sizes(file) {
      await requireMark()
      const names = (await readdir(path(file))).filter(name => NAME.test(name))
      return new Map(await Promise.all(names.map(async name => [name, (await stat(path(file, name))).size] as const)))
    },

    keepOnly: (file, names) =>
      removing(async () => {
        const useless = (await partsOf(file)).filter(name => !names.includes(name))
        await Promise.all(useless.map(name => rm(join(path(file), name), { recursive: true, force: true })))
      }),

    prune: (file, garbage) =>
      removing(async () => {
        // The folder of an unfinished composePart has the name of its part after a dot.
        const names = new Set((await partsOf(file)).map(name => name.replace(/^\./, '')))
        for (const name of await garbage([...names]))
          for (const entry of [name, `.${name}`]) await rm(join(path(file), entry), { recursive: true, force: true })
      }),

    remove: file => removing(() => rm(path(file), { recursive: true, force: true })),
  }
}
