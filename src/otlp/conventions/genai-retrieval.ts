import type { Json } from '../../domain/json.ts'
import { present } from '../reading/attribute-values.ts'
import type { Convention, Reading } from '../reading/convention.ts'
import { retrievedChunks } from '../reading/retrieved-chunks.ts'
import { valueFrom } from '../reading/span-content.ts'

/**
 * OpenTelemetry's retrieval spans. The query and the documents are used only if no other convention gives an input or
 * output.
 */
export const genAiRetrieval: Convention = {
  name: 'gen_ai-retrieval',
  read(span) {
    if (!span.hasBelow('gen_ai.retrieval.')) return undefined
    const query = span.get('gen_ai.retrieval.query.text')
    const documents = valueFrom(span.get('gen_ai.retrieval.documents'))
    return present<Reading>({
      state: present<Record<string, Json>>({ retrieved_chunks: retrievedChunks(documents) }),
      fallback: present<NonNullable<Reading['fallback']>>({ input: valueFrom(query), output: documents }),
    })
  },
}
