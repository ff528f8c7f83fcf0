import type { Json } from '../../domain/json.ts'
import { idOf, textsOf } from './attribute-values.ts'
import type { Convention, SpanReader, TraceReading } from './convention.ts'

/*
 * What a span says of the trace it is in: the conversation, the user, the tags and, of a root, the name. Every instrumentation
 * has keys of its own for the same, and often several are on one span, so that the order of all of them is in one place.
 */

const GROUP_KEYS = [
  'langfuse.session.id',
  'session.id',
  'gen_ai.conversation.id',
  'traceloop.association.properties.session_id',
  'traceloop.association.properties.thread_id',
  'traceloop.association.properties.conversation_id',
  'ai.telemetry.metadata.sessionId',
  'ai.telemetry.metadata.session_id',
  'ai.telemetry.metadata.threadId',
  'ai.telemetry.metadata.conversationId',
  'ai.settings.context.sessionId',
  'ai.settings.context.session_id',
  'ai.settings.context.conversationId',
  'lmnr.association.properties.session_id',
  'langsmith.metadata.session_id',
  'langsmith.metadata.thread_id',
  'langsmith.metadata.conversation_id',
  'conversation.id',
  'gcp.vertex.agent.session_id',
]

const USER_KEYS = [
  'langfuse.user.id',
  'user.id',
  'enduser.id',
  'traceloop.association.properties.user_id',
  'ai.telemetry.metadata.userId',
  'ai.telemetry.metadata.user_id',
  'ai.settings.context.userId',
  'ai.settings.context.user_id',
  'lmnr.association.properties.user_id',
  'langsmith.metadata.user_id',
]

const TAGS_KEYS = [
  'langfuse.trace.tags',
  'tag.tags',
  'ai.telemetry.metadata.tags',
  'ai.settings.context.tags',
  'lmnr.association.properties.tags',
  'langsmith.span.tags',
]

/** Fields of the metadata that name the same, where no attribute does. */
export const GROUP_FIELDS = ['session_id', 'sessionId', 'thread_id', 'threadId', 'conversation_id', 'conversationId']
export const USER_FIELDS = ['user_id', 'userId']
export const TAGS_FIELDS = ['tags']

export const traceIdentity: Convention = {
  name: 'trace-identity',
  read(span) {
    const groupId = idOf(...GROUP_KEYS.map(key => span.get(key)))
    const userId = idOf(...USER_KEYS.map(key => span.get(key)))
    const tags = TAGS_KEYS.map(key => textsOf(span.get(key))).find(found => found !== undefined)
    const rootName = idOf(...rootNames(span))
    const trace: TraceReading = {
      ...(groupId !== undefined && { groupId }),
      ...(userId !== undefined && { userId }),
      ...(tags && { tags }),
      ...(rootName !== undefined && { rootName }),
    }
    return Object.keys(trace).length > 0 ? { trace } : undefined
  },
}

/** They stay among the attributes: they name the span, too. */
const rootNames = (span: SpanReader): (Json | undefined)[] => [
  span.peek('gen_ai.workflow.name'),
  span.peek('ai.telemetry.functionId'),
  span.peek('traceloop.entity.name'),
  span.peek('gen_ai.operation.name') === 'invoke_agent' ? span.peek('gen_ai.agent.name') : undefined,
  span.peek('logfire.msg_template'),
]
