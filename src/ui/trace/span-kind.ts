import type { Span } from '../api/wire.ts'
import {
  IconArrowsSort,
  IconChecklist,
  IconDatabaseSearch,
  IconForms,
  IconLink,
  IconListCheck,
  IconMessageChatbot,
  IconRobot,
  IconRoute,
  IconShieldCheck,
  IconTool,
  IconVector,
} from '../icons/index.ts'

const KINDS = new Map([
  ['llm', { label: 'Model call', Icon: IconMessageChatbot }],
  ['embedding', { label: 'Embedding', Icon: IconVector }],
  ['retriever', { label: 'Retrieval', Icon: IconDatabaseSearch }],
  ['reranker', { label: 'Reranking', Icon: IconArrowsSort }],
  ['tool', { label: 'Tool call', Icon: IconTool }],
  ['agent', { label: 'Agent', Icon: IconRobot }],
  ['chain', { label: 'Chain', Icon: IconLink }],
  ['workflow', { label: 'Workflow', Icon: IconRoute }],
  ['task', { label: 'Task', Icon: IconChecklist }],
  ['prompt', { label: 'Prompt', Icon: IconForms }],
  ['guardrail', { label: 'Guardrail', Icon: IconShieldCheck }],
  ['evaluator', { label: 'Evaluation', Icon: IconListCheck }],
])

/** A span's kind, from its telemetry metadata; undefined if unknown. */
export function kindOf({ metadata }: Pick<Span, 'metadata'>) {
  if (typeof metadata !== 'object' || metadata === null || Array.isArray(metadata)) return undefined
  return typeof metadata.kind === 'string' ? KINDS.get(metadata.kind) : undefined
}
