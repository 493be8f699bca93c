import { type ChildProcessWithoutNullStreams, spawn, spawnSync } from 'node:child_process'
import { getuid } from 'node:process'
import { createInterface } from 'node:readline'
import { say } from '../report.ts'
import type { Ground } from '../resources.ts'

/** A program that npm cannot bring. The message is the line to print before exit 1. */
export class Missing extends Error {
  override name = 'Missing'
}

const isThere = () => spawnSync('psql', ['--version']).status === 0

/** The embedded Postgres has no psql. Debian's is installed where we may; elsewhere it is said what is missing. */
export function needPsql(): void {
  if (isThere()) return
  if (getuid?.() === 0 && spawnSync('apt-get', ['--version']).status === 0) {
    say('installing postgresql-client for psql')
    spawnSync('sh', ['-c', 'apt-get update -q && apt-get install -y -q --no-install-recommends postgresql-client'], {
      stdio: ['ignore', 2, 2],
    })
  }
  if (!isThere())
    throw new Missing(
      'psql is missing, the peer of this bench: install it (Debian: apt-get install postgresql-client) and run the bench again',
    )
}

/** A psql that is connected and waits, so that only the command itself is timed. */
export class Psql {
  readonly #child: ChildProcessWithoutNullStreams
  #heard = ''
  #wake = () => {}

  constructor(ground: Ground, url: string) {
    this.#child = spawn('psql', ['-X', '-q', '-v', 'ON_ERROR_STOP=1', '-d', url], {
      env: { ...process.env, PGOPTIONS: '-c timezone=UTC -c datestyle=ISO' },
    })
    ground.undo(async () => void this.#child.kill('SIGKILL'))
    this.#child.stdin.on('error', () => {})
    for (const stream of [this.#child.stdout, this.#child.stderr])
      createInterface({ input: stream }).on('line', line => {
        this.#heard += `${line}\n`
        this.#wake()
      })
    this.#child.once('exit', () => {
      this.#heard += 'psql ended\n'
      this.#wake()
    })
  }

  /** Seconds that the command took. A backslash command has to be one line. */
  async run(command: string): Promise<number> {
    this.#heard = ''
    const began = performance.now()
    this.#child.stdin.write(`${command}\n\\echo over\n`)
    while (!this.#heard.includes('over\n')) {
      if (this.#heard.includes('psql ended\n')) throw new Error(this.#heard)
      await new Promise<void>(resolve => {
        this.#wake = resolve
      })
    }
    return (performance.now() - began) / 1000
  }

  end(): void {
    this.#child.stdin.end('\\q\n')
  }
}
