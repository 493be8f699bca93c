import { createHash } from 'node:crypto'
import type { Part } from '../../domain/reporting/exports/export.ts'
import { type NewFile, type StoredFile, storedFile, usageOf } from '../../domain/reporting/exports/rewrite.ts'
import { USER_KEY } from '../../domain/reporting/exports/statement.ts'
import { filterParquet } from '../../store/files/parquet-filter.ts'
import { type FileToRewrite, type RewriteOptions, rewriteText } from './rewrite-text.ts'

/** `of`: the file that was read. `file`: null when no row was removed. `replaced`: parts of the old file that the new one does not have. */
export type Rewritten = { of: string; erased: string[]; file: NewFile | null; replaced: string[] }

const markOf = (name: string): number | undefined => {
  const run = /\.erase-(\d+)-/.exec(name)?.[1]
  return run === undefined ? undefined : Number(run)
}

/**
 * Writes a file again without the rows of all users whose erasure from it is waiting. Null when the file is gone, when no erasure waits, or
 * when another run has meanwhile replaced the file and removed the parts that were being read: the caller then reads the state again,
 * without a failed attempt.
 */
export async function rewriteFile(options: RewriteOptions): Promise<Rewritten | null> {
  const { pool, environment, file } = options
  const stored = await storedFile(pool, environment, file)
  if (stored === null || stored.to_erase.length === 0) return null
  try {
    return await rewrite(stored, options)
  } catch (error) {
    if ((await storedFile(pool, environment, file))?.sha256 !== stored.sha256) return null
    throw error
  }
}

async function rewrite(stored: StoredFile, { storage, secrets, file, mark, signal }: RewriteOptions): Promise<Rewritten> {
  const { sha256: of, to_erase: erased, parts: old } = stored
  const options = { storage, secrets, file, stored, name: (n: number) => `${n}.erase-${mark}`, signal }
  const made = stored.format === 'parquet' ? await rewriteParquet(options) : await rewriteText(options)
  if (made === null) return { of, erased, file: null, replaced: [] }
  const kept = new Set(made.parts.map(part => part.name))
  return { of, erased, file: made, replaced: old.map(part => part.name).filter(name => !kept.has(name)) }
}

class NoRowErased extends Error {}

async function rewriteParquet({ storage, secrets, file, stored, name, signal }: FileToRewrite): Promise<NewFile | null> {
  const [old] = stored.parts as [Part]
  const target = name(1)
  let rows = 0
  try {
    const { bytes } = await storage.composePart(file, target, [old.name], async ({ sources, ...at }) => {
      const left = await filterParquet({
        source: sources[0]!,
        column: USER_KEY,
        pseudonyms: stored.to_erase,
        pads: secrets.pseudonymPads,
        ...at,
        signal,
      })
      if (left === null) throw new NoRowErased()
      rows = left
    })
    const part = { name: target, rows, bytes }
    const hash = createHash('sha256')
    for await (const chunk of await storage.read(file, [part])) {
      signal.throwIfAborted()
      hash.update(chunk)
    }
    return { parts: [part], bytes, sha256: hash.digest('hex') }
  } catch (error) {
    if (error instanceof NoRowErased) return null
    throw error
  }
}

export type ClearOptions = Omit<RewriteOptions, 'secrets' | 'mark' | 'signal'> & { run: number; replaced: string[] }

/**
 * Removes parts that do not belong to the file: replaced parts, incomplete parts of this run and of runs that have ended, and leftovers of
 * the export. The parts of another run that is still rewriting the file stay. A file that has expired meanwhile is removed completely: its
 * retention may have run before the last new part was written.
 */
export async function clearAway({ pool, storage, environment, file, run, replaced }: ClearOptions): Promise<void> {
  let isUseless = false
  await storage.prune(file, async names => {
    const marks = new Map(names.map(name => [name, markOf(name)]))
    const runs = [...marks.values()].filter(mark => mark !== undefined)
    const { useless, parts, rewriting } = await usageOf(pool, environment, file, runs)
    isUseless = useless
    if (useless || parts === null) return []
    const used = new Set(parts.map(part => part.name))
    const isOthers = (name: string) => marks.get(name) !== run && rewriting.includes(marks.get(name) ?? -1)
    return names.filter(name => !used.has(name) && (replaced.includes(name) || !isOthers(name)))
  })
  if (isUseless) await storage.remove(file)
}
