import { mkdtemp, rm } from 'node:fs/promises'
import { availableParallelism, tmpdir } from 'node:os'
import { join } from 'node:path'
import type { DuckDBInstance } from '@duckdb/node-api'
import { prepareFolder } from './file.ts'
import { EXACT_SUM } from './source.ts'

const MOST_THREADS = 4

/** The DuckDB of this process. `folder`: the folder of its files. */
export type Engine = { instance: DuckDBInstance; folder: string; close: () => Promise<void> }

/** A folder in which files can be written: the configured folder, else a temporary folder. */
async function writableFolder(folder: string): Promise<{ folder: string; isTemporary: boolean }> {
  try {
    await prepareFolder(folder)
    await rm(await mkdtemp(join(folder, 'try-')), { recursive: true })
    return { folder, isTemporary: false }
  } catch {
    return { folder: await mkdtemp(join(tmpdir(), 'perennial-replicas-')), isTemporary: true }
  }
}

/** Loads DuckDB. `memory`: the memory that DuckDB may use, for example 384MB. */
export async function startEngine(wanted: string, memory: string): Promise<Engine> {
  // Loaded on first use: DuckDB takes 20 MB of memory, and many installations have few facts.
  const { DuckDBInstance } = await import('@duckdb/node-api')
  const { folder, isTemporary } = await writableFolder(wanted)
  const instance = await DuckDBInstance.create(':memory:', {
    threads: String(Math.min(availableParallelism(), MOST_THREADS)),
    memory_limit: memory,
    temp_directory: join(folder, 'spill'),
    // Sums by keys of so many bits together are added up in an array (12 by default: four stores with their lengths need one more).
    perfect_ht_threshold: '14',
    autoinstall_known_extensions: 'false',
    autoload_known_extensions: 'false',
  })
  const connection = await instance.connect()
  await connection.run(EXACT_SUM)
  // On a full disk the checkpoint fails when a file is detached. After that DuckDB answers no question of any environment.
  await connection.run('pragma disable_checkpoint_on_shutdown')
  connection.closeSync()
  return {
    instance,
    folder,
    async close() {
      instance.closeSync()
      if (isTemporary) await rm(folder, { recursive: true, force: true })
    },
  }
}
