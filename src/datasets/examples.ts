import type { Shown } from '../api/contract.ts'
import {
  ANSWER,
  CORRECTION,
  DATASET_ID,
  JUDGED,
  METADATA,
  PROMPT_VERSION_ID,
  QUESTION,
  SPAN_ID,
  TRACE_UUID,
  USER_ID,
} from '../api/story.ts'
import type { Dataset, DatasetItem, DatasetItemHead } from './wire.ts'

export const DATASET_VERSION = '3f2a91bc4k'

export const dataset: Shown<typeof Dataset> = {
  id: DATASET_ID,
  stepId: 'generate-answer',
  version: DATASET_VERSION,
  items: 212,
  accepted: 180,
  corrected: 32,
  imported: 0,
  excluded: 2,
  evaluator: {},
  updatedAt: JUDGED,
}

export const itemHead: Shown<typeof DatasetItemHead> = {
  id: SPAN_ID,
  spanId: SPAN_ID,
  traceId: TRACE_UUID,
  decision: 'correct',
  by: USER_ID,
  at: JUDGED,
  errorType: 'context_misinterpretation',
  promptVersionId: PROMPT_VERSION_ID,
  split: 'test',
  stale: false,
  excluded: false,
  note: null,
}

export const item: Shown<typeof DatasetItem> = {
  ...itemHead,
  input: QUESTION,
  state: { retrieved_chunks: [{ doc: 'warranty', text: 'Every device has a warranty of 24 months.' }] },
  output: ANSWER,
  expected: [CORRECTION],
  metadata: METADATA,
  truncated: [],
}

export const jsonLinesExample = `${JSON.stringify(item)}\n{"end":true,"items":1}\n`

export const csvExample = [
  'id,spanId,traceId,decision,by,at,errorType,promptVersionId,split,stale,excluded,note,input,state,output,expected.answer,metadata,_rest',
  `${SPAN_ID},${SPAN_ID},${TRACE_UUID},correct,${USER_ID},${JUDGED},context_misinterpretation,${PROMPT_VERSION_ID},test,false,false,,"{""question"":""How long is the warranty?""}",,"{""answer"":""The warranty is 12 months.""}",The warranty is 24 months.,,`,
  '',
].join('\r\n')
