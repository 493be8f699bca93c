import { mkdtemp, rm } from 'node:fs/promises'
import { createServer, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { GetObjectCommand, NoSuchKey } from '@aws-sdk/client-s3'
import { s3Client } from '../../workflows/report-destinations/s3-client.ts'
import { s3Storage } from './s3-storage.ts'

/** `hang`: no response; `cut`: the connection is closed. */
export type Instead = { status: number; code: string; headers?: Record<string, string> } | 'hang' | 'cut'

export type S3Host = {
  endpoint: string
  /** `METHOD path?query` of every request. */
  requests: string[]
  /** A response in place of the storage's own; undefined: the storage responds. */
  instead: (request: IncomingMessage) => Instead | undefined
  get(key: string): Promise<{ content: Buffer; contentType: string | undefined } | null>
  close(): Promise<void>
}

export const S3_KEYS = { access_key_id: 'S3RVER', secret_access_key: 'S3RVER', region: 'us-east-1', bucket: 'reports' }

/** A local S3 with the bucket `reports`. Tests set `instead` to make it fail. */
export async function s3Host(): Promise<S3Host> {
  const directory = await mkdtemp(join(tmpdir(), 'perennial-s3-'))
  const storage = await s3Storage(directory, 'reports')
  const store = storage.callback()
  const front = createServer((request, response) => {
    host.requests.push(`${request.method} ${request.url}`)
    const instead = host.instead(request)
    if (instead === 'hang') return
    if (instead === 'cut') return void request.socket.destroy()
    if (instead) {
      request.resume()
      response.writeHead(instead.status, { 'content-type': 'application/xml', ...instead.headers })
      return void response.end(`<?xml version="1.0"?><Error><Code>${instead.code}</Code><Message>about ${instead.code}</Message></Error>`)
    }
    store(request, response)
  })
  await new Promise<void>(resolve => front.listen(0, '127.0.0.1', resolve))
  const host: S3Host = {
    endpoint: `http://127.0.0.1:${(front.address() as AddressInfo).port}`,
    requests: [],
    instead: () => undefined,
    async get(key) {
      const { instead } = host
      host.instead = () => undefined
      const client = s3Client({ ...S3_KEYS, endpoint: host.endpoint }, { allowPrivateNetwork: true }, AbortSignal.timeout(60_000))
      try {
        const { Body, ContentType } = await client.send(new GetObjectCommand({ Bucket: 'reports', Key: key }))
        return { content: Buffer.from(await Body!.transformToByteArray()), contentType: ContentType }
      } catch (error) {
        if (error instanceof NoSuchKey) return null
        throw error
      } finally {
        client.destroy()
        host.instead = instead
        host.requests.pop()
      }
    },
    async close() {
      front.closeAllConnections()
      await new Promise(resolve => front.close(resolve))
      // The logger listens for uncaught errors of the whole process.
      storage.logger.exceptions.unhandle()
      storage.logger.close()
      await rm(directory, { recursive: true, force: true })
    },
  }
  return host
}
