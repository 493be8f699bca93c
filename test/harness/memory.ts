import { execFile } from 'node:child_process'
import { chmod, mkdtemp, readdir, rm, statfs, writeFile } from 'node:fs/promises'
import { freemem, tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'

const MEMORY = '/dev/shm'
/** The databases, data folders and files that exist at one moment, with their logs. */
const ROOM = 4_000_000_000
const NAME = /^perennial-tests-(\d+)-/

const removed = (folder: string) => rm(folder, { recursive: true, force: true, maxRetries: 5, retryDelay: 200 })

const newFolder = (parent: string): Promise<string> => mkdtemp(join(parent, `perennial-tests-${process.pid}-`))

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM'
  }
}

/** A suite that was killed leaves its folder behind, and in memory what is in it takes room until the machine restarts. */
async function removeAbandoned(parent: string): Promise<void> {
  const names = await readdir(parent).catch(() => [])
  const abandoned = names.filter(name => NAME.test(name) && !isAlive(Number(NAME.exec(name)![1])))
  await Promise.all(abandoned.map(name => removed(join(parent, name)).catch(() => {})))
}

/** A control group may allow less than the machine has free, and what is in /dev/shm counts as its memory. */
async function hasRoom(): Promise<boolean> {
  const memory = await statfs(MEMORY).catch(() => undefined)
  return memory !== undefined && Math.min(memory.bavail * memory.bsize, freemem(), process.availableMemory()) > ROOM
}

/** Containers mount it without execution, but tests execute files that they write. */
async function canExecute(folder: string): Promise<boolean> {
  const file = join(folder, 'probe')
  try {
    await writeFile(file, '#!/bin/sh\n', { mode: 0o755 })
    await promisify(execFile)(file)
    return true
  } catch {
    return false
  } finally {
    await rm(file, { force: true })
  }
}

async function folderInMemory(): Promise<string | undefined> {
  if (!(await hasRoom())) return undefined
  const folder = await newFolder(MEMORY).catch(() => undefined)
  if (folder === undefined || (await canExecute(folder))) return folder
  await removed(folder)
  return undefined
}

/**
 * Puts the temporary folder of the suite into memory, where there is enough of it. A database has 630 files: to make and drop one costs 27 ms of
 * a processor there, 400 ms on a disk. A service on a new data folder starts in half the time, because what it syncs need not reach a disk.
 * No test depends on a disk: none ends the machine.
 */
export default async function setup(): Promise<() => Promise<void>> {
  for (const parent of [MEMORY, tmpdir()]) await removeAbandoned(parent)
  const folder = (await folderInMemory()) ?? (await newFolder(tmpdir()))
  // As /tmp is: the embedded Postgres runs under another account.
  await chmod(folder, 0o1777)
  process.env.TMPDIR = folder
  return () => removed(folder)
}
