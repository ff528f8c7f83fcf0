import type { Json } from '../../domain/json.ts'
import { idOf, present, textsOf } from '../reading/attribute-values.ts'
import type { Convention, SpanReader, TraceReading } from '../reading/convention.ts'
import { ownTemplate } from './logfire.ts'

/*
 * A span's information about its trace: the conversation, the user, the tags, and the name, if the span is the root.
 * Each instrumentation has its own keys for this information, and a span often has several, so this file defines the
 * order of all keys.
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
  'langfuse.tags',
  'tag.tags',
  'ai.telemetry.metadata.tags',
  'ai.settings.context.tags',
  'lmnr.association.properties.tags',
  'langsmith.span.tags',
]

/** Metadata fields with the same meanings, used if no attribute is present. */
export const GROUP_FIELDS = ['session_id', 'sessionId', 'thread_id', 'threadId', 'conversation_id', 'conversationId']
export const USER_FIELDS = ['user_id', 'userId']
export const TAGS_FIELDS = ['tags']

/** The list that each key is in, and its rank there. */
const PLACES = new Map(
  [GROUP_KEYS, USER_KEYS, TAGS_KEYS].flatMap((keys, list) => keys.map((key, rank) => [key, { list, rank }] as const)),
)

export const traceIdentity: Convention = {
  name: 'trace-identity',
  read(span) {
    const [groups, users, tags] = keysInOrder(span)
    const trace = present<TraceReading>({
      groupId: firstOf(span, groups, idOf, (value, groupId) => value === groupId),
      userId: firstOf(span, users, idOf, (value, userId) => value === userId),
      tags: firstOf(span, tags, textsOf, (value, list) => value.join() === list.join()),
      rootName: idOf(...rootNames(span)),
    })
    return trace && { trace }
  },
}

/**
 * The keys of each list that are present, in order. Iterates over the span's few attributes instead of all known keys.
 */
function keysInOrder(span: SpanReader): string[][] {
  const lists: string[][] = [[], [], []]
  for (const key of span.span.attributes.keys()) {
    const place = PLACES.get(key)
    const keys = place && lists[place.list]
    if (keys) keys[place.rank] = key
  }
  return lists.map(keys => keys.filter(Boolean))
}

/**
 * The first valid value. Marks all keys that have the same value as read. Keys with a different value stay among the
 * attributes.
 */
function firstOf<Value>(
  span: SpanReader,
  keys: readonly string[] | undefined,
  read: (value: Json | undefined) => Value | undefined,
  isSame: (value: Value, first: Value) => boolean,
): Value | undefined {
  let first: Value | undefined
  for (const key of keys ?? []) {
    const value = read(span.peek(key))
    if (value === undefined || (first !== undefined && !isSame(value, first))) continue
    first ??= value
    span.get(key)
  }
  return first
}

/** Candidates for the root's name. They stay among the attributes, because they also name the span. */
const rootNames = (span: SpanReader): (Json | undefined)[] => [
  span.peek('gen_ai.workflow.name'),
  span.peek('ai.telemetry.functionId'),
  span.peek('traceloop.entity.name'),
  span.peek('gen_ai.operation.name') === 'invoke_agent' ? span.peek('gen_ai.agent.name') : undefined,
  span.peek('gen_ai.operation.name') === 'execute_tool' ? span.peek('gen_ai.tool.name') : undefined,
  ownTemplate(span),
  // Older versions of pydantic-ai.
  span.peek('agent_name'),
]
