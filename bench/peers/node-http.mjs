import { createServer } from 'node:http'
import { listEvents, ready } from './list.mjs'

const server = createServer(async (request, response) => {
  const url = new URL(request.url, 'http://localhost')
  try {
    const data = await listEvents(Number(url.pathname.split('/')[2]), Number(url.searchParams.get('offset') ?? 0))
    const body = JSON.stringify({ data })
    response.writeHead(200, { 'content-type': 'application/json; charset=utf-8', 'content-length': Buffer.byteLength(body) })
    response.end(body)
  } catch (error) {
    console.error(error)
    response.writeHead(500).end()
  }
})
server.listen(0, '127.0.0.1', () => ready(server))
