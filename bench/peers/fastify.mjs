import Fastify from 'fastify'
import { listEvents, ready } from './list.mjs'

const app = Fastify()
app.get('/environments/:environment/events', async ({ params, query }) => ({
  data: await listEvents(Number(params.environment), Number(query.offset ?? 0)),
}))
await app.listen({ port: 0, host: '127.0.0.1' })
ready(app.server)
