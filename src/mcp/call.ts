import type { Caller } from '../auth/authenticate.ts'
import type { JsonObject } from '../domain/json.ts'
import type { Runtime } from '../env.ts'
import { badRequest, errorResponse, forbidden } from '../http/errors.ts'
import { MAX_NAMED_PROJECTS } from '../limits.ts'
import { listProjects } from '../store/accounts/projects.ts'
import type { Store } from '../store/core/store.ts'
import { type Answer, answerOf, errorAnswer, errorIn, partOf } from './answer.ts'
import { isAllowed, isReading, lacksProject, requestOf, scopesOf, type Tool } from './tool.ts'

/** The context of tool calls. The caller acts as an agent. */
export interface Session {
  caller: Caller
  store: Store
  request: Request
  runtime: Runtime
}

/**
 * Calls a tool by sending a request to its endpoint. The request doesn't take another token from the caller, because
 * the message already took one. Returns every error as an answer that the agent can read.
 */
export async function callTool(tool: Tool, sent: JsonObject, session: Session): Promise<Answer> {
  const { caller, store, runtime } = session
  try {
    if (!isAllowed(tool, caller)) throw forbidden(`This key lacks the ${scopesOf(tool).join(' or ')} scope`)
    if (lacksProject(tool, sent, caller)) throw await projectRequired(store)
    const part = isReading(tool) ? partOf(sent) : { path: '', offset: 0 }
    const { request, params } = requestOf(tool, sent, caller, session.request)
    const response = await tool.endpoint.serve(request, params, runtime, caller)
    if (response.ok) return await answerOf(response, part, isReading(tool))
    return errorAnswer(await errorIn(response), adviceFor(response))
  } catch (error) {
    // Logs the error if it's our fault, as for any other request.
    const response = errorResponse(error, runtime.requestId)
    return errorAnswer(await errorIn(response), adviceFor(response))
  }
}

/** 400 that lists the projects to choose from. */
async function projectRequired(store: Store) {
  const projects = await listProjects(store, null, { limit: MAX_NAMED_PROJECTS, after: 0 })
  const slugs = projects.map(({ slug }) => slug).join(', ')
  return badRequest(
    `is required, because this key is for all projects. The projects are: ${slugs || 'none yet'}`,
    'project',
  )
}

/** What an agent can do about an error. */
function adviceFor({ status, headers }: Response): string {
  const seconds = headers.get('retry-after')
  switch (status) {
    case 500:
    case 503:
      return `Countersign is temporarily unavailable, and it's unknown whether the call took effect. Call it again with the same arguments in ${seconds ?? 10} seconds.`
    case 429:
      return `Call it again in ${seconds ?? 60} seconds.`
    case 403:
      return "This key isn't allowed to do that. If only people can do it, ask someone to do it in the app."
    case 404:
      return "It doesn't exist, or it no longer exists."
    default:
      return 'Change the arguments as the error says.'
  }
}
