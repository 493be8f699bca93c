import { once } from 'node:events'
import { mkdtemp, readdir, readFile, rm, stat } from 'node:fs/promises'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { S3Options } from '../../store/files/s3-client.ts'
import { freePort } from './redis.ts'
import { s3Storage } from './s3-storage.ts'

/** The fault of a request: a response of 500 or 501; a connection cut in the middle of the request's body, or of the response's. */
export type Fault = 'fails' | 'is-unknown' | 'is-cut' | 'breaks-off'
export type S3Request = { method: string; url: string; headers: IncomingMessage['headers'] }

export type TestS3 = {
  options: S3Options
  /** The options as configuration of the product. */
  env: Record<string, string>
  /** Called for every request: its fault, if any. */
  befalls: (request: S3Request) => Fault | undefined | Promise<Fault | undefined>
  /** Every request, those with faults included. */
  requests: S3Request[]
  /** The keys of uploads that were begun and neither finished nor aborted. */
  unfinished(): Promise<string[]>
  stop(): Promise<void>
  start(): Promise<void>
  end(): Promise<void>
}

const BUCKET = 'exported'
const KEY = 'S3RVER'
const PREFIX = 'some/where/'
const OBJECT = '._S3rver_object'
const PAGE = 50

const xml = (root: string, content: string) =>
  `<?xml version="1.0" encoding="UTF-8"?><${root} xmlns="http://s3.amazonaws.com/doc/2006-03-01/">${content}</${root}>`

/** All names below the folder. Reads again when an entry disappears meanwhile. */
const namesIn = (folder: string): Promise<string[]> =>
  readdir(folder, { recursive: true }).catch(error => {
    if (error.code !== 'ENOENT') throw error
    return namesIn(folder)
  })

/** Ends the connection before the second chunk of the response. */
function breakOff(response: ServerResponse): void {
  const write = response.write.bind(response)
  let chunks = 0
  response.write = ((chunk: Uint8Array) => {
    if (chunks++ === 0) return write(chunk)
    response.socket?.destroy()
    return false
  }) as typeof response.write
}

/** A server that speaks S3, with what s3rver lacks: listing and aborting uploads, and lists of more than one page. */
export async function startS3(): Promise<TestS3> {
  const directory = await mkdtemp(join(tmpdir(), 'perennial-s3-'))
  const uploads = join(directory, BUCKET, '._S3rver_uploads')
  const port = await freePort()
  const endpoint = `http://127.0.0.1:${port}`
  const s3rver = await s3Storage(directory, BUCKET)
  const handle = s3rver.callback()
  let server: Server | undefined

  const begun = async (): Promise<[id: string, key: string][]> => {
    const ids = await readdir(uploads).catch(() => [])
    const found = await Promise.all(
      ids.map(async id => [id, await readFile(join(uploads, id, 'key'), 'utf8').catch(() => '')] as [string, string]),
    )
    // An upload may end at this moment.
    return found.filter(([, key]) => key !== '')
  }

  /** Responds to requests that s3rver does not support; false for all others. */
  async function respond(request: IncomingMessage, response: ServerResponse): Promise<boolean> {
    const { searchParams } = new URL(request.url!, endpoint)
    const id = searchParams.get('uploadId')
    if (request.method === 'DELETE' && id !== null) {
      await rm(join(uploads, id), { recursive: true, force: true })
      response.writeHead(204).end()
      return true
    }
    if (request.method === 'GET' && searchParams.has('uploads')) {
      const found = (await begun()).filter(([, key]) => key.startsWith(searchParams.get('prefix') ?? ''))
      const listed = found.map(([id, key]) => `<Upload><Key>${key}</Key><UploadId>${id}</UploadId></Upload>`)
      response.writeHead(200, { 'Content-Type': 'application/xml' })
      response.end(xml('ListMultipartUploadsResult', `<IsTruncated>false</IsTruncated>${listed.join('')}`))
      return true
    }
    if (request.method === 'GET' && searchParams.get('list-type') === '2') {
      response.writeHead(200, { 'Content-Type': 'application/xml' })
      response.end(xml('ListBucketResult', await page(searchParams)))
      return true
    }
    return false
  }

  async function page(query: URLSearchParams): Promise<string> {
    const prefix = query.get('prefix') ?? ''
    const after = query.get('continuation-token') ?? ''
    const bucket = join(directory, BUCKET)
    const keys = (await namesIn(bucket))
      .filter(name => name.endsWith(OBJECT))
      .map(name => name.slice(0, -OBJECT.length))
      .filter(key => key.startsWith(prefix) && key > after)
      .sort()
    const shown = keys.slice(0, PAGE)
    const sizes = await Promise.all(shown.map(async key => (await stat(join(bucket, key + OBJECT)).catch(() => ({ size: 0 }))).size))
    const contents = shown.map((key, i) => `<Contents><Key>${key}</Key><Size>${sizes[i]}</Size></Contents>`).join('')
    const more = keys.length > PAGE
    const next = more ? `<NextContinuationToken>${shown.at(-1)}</NextContinuationToken>` : ''
    return `<IsTruncated>${more}</IsTruncated>${next}${contents}`
  }

  const s3: TestS3 = {
    options: {
      bucket: BUCKET,
      region: 'us-east-1',
      endpoint,
      prefix: PREFIX,
      credentials: { accessKeyId: KEY, secretAccessKey: KEY },
      forcePathStyle: true,
    },
    env: { S3_BUCKET: BUCKET, S3_ENDPOINT: endpoint, S3_PREFIX: PREFIX, S3_ACCESS_KEY_ID: KEY, S3_SECRET_ACCESS_KEY: KEY },
    befalls: () => undefined,
    requests: [],
    unfinished: async () => (await begun()).map(([, key]) => key),
    async start() {
      server = createServer(async (request, response) => {
        const seen = { method: request.method!, url: request.url!, headers: request.headers }
        s3.requests.push(seen)
        const fault = await s3.befalls(seen)
        if (fault === 'is-cut') return void request.once('data', () => request.socket.destroy())
        if (fault === 'breaks-off') breakOff(response)
        else if (fault !== undefined) {
          request.resume()
          const code = fault === 'fails' ? 'InternalError' : 'NotImplemented'
          response.writeHead(fault === 'fails' ? 500 : 501, { 'Content-Type': 'application/xml' })
          return void response.end(`<?xml version="1.0"?><Error><Code>${code}</Code><Message>${fault}</Message></Error>`)
        }
        if (!(await respond(request, response))) handle(request, response)
      })
      server.listen(port, '127.0.0.1')
      await once(server, 'listening')
    },
    async stop() {
      server?.closeAllConnections()
      server?.close()
      if (server?.listening) await once(server, 'close')
      server = undefined
    },
    async end() {
      await s3.stop()
      s3rver.logger.exceptions.unhandle()
      s3rver.logger.close()
      await rm(directory, { recursive: true, force: true })
    },
  }
  await s3.start()
  return s3
}
