import Router from '@koa/router'
import Koa from 'koa'
import { listEvents, ready } from './list.mjs'

const router = new Router()
router.get('/environments/:environment/events', async ctx => {
  ctx.body = { data: await listEvents(Number(ctx.params.environment), Number(ctx.query.offset ?? 0)) }
})
const app = new Koa()
app.use(router.routes()).use(router.allowedMethods())
const server = app.listen(0, '127.0.0.1', () => ready(server))
