// The server says how many rows a COPY had after the rows themselves: a part waits for that, however late it comes.
import { createHash } from 'node:crypto'
import { PassThrough } from 'node:stream'
import { expect, test } from 'vitest'
import type { ExportSource } from '../../../domain/reporting/exports/parts.ts'
import type { Pool } from '../../../store/connect.ts'
import type { FileStorage } from '../../../store/files/storage.ts'
import { writePart } from '../../../workflows/export/write-part.ts'

const message = (code: string, content = '') => {
  const bytes = Buffer.alloc(5 + content.length)
  bytes.write(code, 'latin1')
  bytes.writeUInt32BE(4 + content.length, 1)
  bytes.write(content, 5, 'latin1')
  return bytes
}

type Copy = {
  submit(connection: object): void
  handleCommandComplete(message: { text: string }): void
}

test('counts the rows of a file whose last message comes alone', async () => {
  let copy: Copy | undefined
  const stream = new PassThrough()
  stream.on('data', () => {})
  // A statement after the COPY is answered when the COPY has ended.
  const ended = Promise.withResolvers<void>()
  const query = (given: Copy | string) => {
    if (typeof given === 'string') return given === 'commit' ? ended.promise : Promise.resolve()
    copy = given
    given.submit({ stream, query: () => {} })
    stream.write(Buffer.concat([message('H', '\0\0\0'), message('d', '1\n'), message('d', '2\n'), message('c')]))
    return given
  }
  const pool = { connect: async () => ({ query, release: () => {} }) } as unknown as Pool
  const storage: Pick<FileStorage, 'writePart'> = {
    async writePart(_file, _name, content) {
      let bytes = 0
      for await (const chunk of content) bytes += chunk.length
      setTimeout(() => {
        copy!.handleCommandComplete({ text: 'COPY 2' })
        ended.resolve()
      }, 20)
      return { bytes }
    },
  }
  const job: ExportSource = {
    ...{ environment: 1, type: 'events', format: 'ndjson', compression: 'none', formulaGuard: false, include: [], platforms: '' },
    ...{ windowFrom: '-infinity', windowTo: 'infinity', fromOffsets: [0], toOffsets: [2] },
  }
  const bound: [string, string, string] = ['2026-01-01', '0', '0']
  const part = await writePart({
    ...{ pool, storage: storage as FileStorage, job, file: 'f', name: '1.1', after: bound, upto: bound },
    ...{ isFirst: true, isLast: true, isContinued: false, hash: createHash('sha256'), signal: new AbortController().signal },
  })
  expect(part).toEqual({ name: '1.1', rows: 2, bytes: 4 })
})
