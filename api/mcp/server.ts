import { createRequestStateCodec, inputRequired, inputResponse, Server, type ServerContext } from '@modelcontextprotocol/server'
import { callTool, declined, twoCalls, unknownTool } from './call.ts'
import { formOf } from './confirm.ts'
import type { CallDeps } from './deps.ts'
import { CALL_OPERATION, calledByName, FINDING, find } from './find.ts'
import type { Arguments } from './input.ts'
import { addPrompts } from './prompts.ts'
import { instructionsFor, mcpCallerOf, SERVER_INFO, type ServerFactory } from './protocol.ts'
import { addResources } from './resources.ts'
import { resultOf } from './result.ts'
import { isSelected, listed, type Tools, toolsOf } from './tools.ts'

/** A list is that of the token, and changes with the grant and the operator's role. */
const HINT = { ttlMs: 60_000, cacheScope: 'private' } as const
/** Of a question to the operator, as long as its confirmation. */
const ASKED_SECONDS = 300
const QUESTION = 'confirm'

type Asked = { token: string }

/** Whether the client shows forms to the operator. Of clients of the earlier revision the capabilities are not known. */
const showsForms = (server: Server): boolean => {
  const elicitation = server.getClientCapabilities()?.elicitation as { form?: object; url?: object } | undefined
  return elicitation !== undefined && (elicitation.form !== undefined || elicitation.url === undefined)
}

/** Makes a server for each request; nothing is kept between two of them. */
export function mcpServers(call: CallDeps, tools: Tools): ServerFactory {
  const asked = createRequestStateCodec<Asked>({
    key: call.deps.secrets.sign('state of a question to the operator'),
    ttlSeconds: ASKED_SECONDS,
    bind: ({ http }) => mcpCallerOf(http?.authInfo).owner.keyId,
  })

  return ({ era, authInfo }) => {
    const { owner, requestId, selection } = mcpCallerOf(authInfo)
    const lane = era === 'modern' ? 'current' : 'earlier'
    const server = new Server(SERVER_INFO, {
      capabilities: { tools: {}, resources: {}, prompts: {} },
      instructions: instructionsFor(owner),
      cacheHints: { 'tools/list': HINT, 'prompts/list': HINT, 'resources/list': HINT, 'resources/read': HINT, 'server/discover': HINT },
      inputRequired: { legacyShim: false },
      requestState: { verify: asked.verify },
    })

    /** The arguments with the operator's answer to the question; null: the operator said no. */
    function withAnswer(given: Arguments, { mcpReq }: ServerContext): Arguments | null {
      const state = mcpReq.requestState<Asked>()
      if (lane === 'earlier' || state === undefined) return given
      const answer = inputResponse(mcpReq.inputResponses, QUESTION)
      if (answer.kind !== 'elicit') return given
      if (answer.action !== 'accept') return null
      const { confirm_id, reason } = answer.content ?? {}
      return { ...given, confirmation_token: state.token, confirm_id, reason }
    }

    async function answer(name: string, given: Arguments, context: ServerContext) {
      const tool = tools.get(name)
      if (!tool || !isSelected(selection, tool)) return resultOf(unknownTool(name))
      const answered = withAnswer(given, context)
      if (answered === null) return resultOf(declined(lane))
      const called = await callTool(call, tool, { owner, requestId, lane }, answered)
      if (called.is === 'result') return resultOf(called.result)
      const { confirmation } = called
      if (lane === 'earlier' || !showsForms(server)) return resultOf(twoCalls(lane, confirmation))
      return inputRequired({
        inputRequests: { [QUESTION]: inputRequired.elicit(formOf(confirmation)) },
        requestState: await asked.mint({ token: confirmation.token }, context),
      })
    }

    server.setRequestHandler('tools/list', () => ({
      tools: (selection.find ? FINDING : listed(toolsOf(tools, selection, owner))) as never,
    }))
    server.setRequestHandler('tools/call', ({ params }, context) => {
      const given = (params.arguments ?? {}) as Arguments
      if (!selection.find) return answer(params.name, given, context)
      if (params.name !== CALL_OPERATION)
        return resultOf(find(params.name, toolsOf(tools, selection, owner), given) ?? unknownTool(params.name))
      const { name, given: inner } = calledByName(given)
      return answer(name, inner, context)
    })
    addResources(server)
    addPrompts(server)
    return server
  }
}
