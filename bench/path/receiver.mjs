// A receiver of webhooks in a process of its own: answers at once, and tells how many requests have arrived whenever it is asked.
import { createServer } from 'node:http'

let arrived = 0
const server = createServer((request, response) => {
  request.resume().on('end', () => {
    if (request.headers['webhook-id'] !== undefined) arrived++
    response.end('{}')
  })
})
server.listen(0, '127.0.0.1', () => process.send({ port: server.address().port }))
setInterval(() => process.send({ arrived }), 10)
