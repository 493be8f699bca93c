import { spawn } from 'node:child_process'
import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { createReadStream, createWriteStream } from 'node:fs'
import { pipeline } from 'node:stream/promises'
import { createGzip } from 'node:zlib'

/** Packs the folder `name` in `parent`. The same content gives the same bytes: names are sorted, and times, owners and the head of the file are fixed. */
export async function pack(parent: string, name: string, seconds: number, path: string): Promise<void> {
  const order = ['--create', '--format=gnu', '--sort=name', `--mtime=@${seconds}`, '--owner=0', '--group=0', '--numeric-owner']
  const tar = spawn('tar', [...order, '-C', parent, name], { stdio: ['ignore', 'pipe', 'inherit'] })
  const [[code]] = await Promise.all([once(tar, 'close'), pipeline(tar.stdout, createGzip({ level: 9 }), createWriteStream(path))])
  if (code !== 0) throw new Error(`tar has ended with ${code}`)
}

export async function sha256Of(path: string): Promise<string> {
  const hash = createHash('sha256')
  await pipeline(createReadStream(path), hash)
  return hash.digest('hex')
}
