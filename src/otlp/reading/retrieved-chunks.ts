import { isJsonObject, type Json, type JsonObject } from '../../domain/json.ts'
import { cutText, utf8Length } from '../../domain/text.ts'
import { MAX_CHUNK_BYTES } from '../../limits.ts'
import { idOf, numberOf, objectOf } from './attribute-values.ts'
import { isPrintedObject } from './python.ts'
import { parsed } from './serialized.ts'
import { withoutVectors } from './vectors.ts'

/*
 * Search results from a knowledge base, as the state `retrieved_chunks`, in their original order:
 *
 *   {id, score, content?, metadata?, truncated?}
 *
 * A missing id or score is left out. Long content is truncated and marked with `truncated`.
 */

/** A document's fields under our names. */
export interface Chunk {
  id?: Json | undefined
  score?: Json | undefined
  content?: Json | undefined
  metadata?: Json | undefined
}

/** A chunk in our form, or undefined if the document is empty. */
export function chunkOf(document: Chunk): JsonObject | undefined {
  const metadata = objectOf(document.metadata && withoutVectors(document.metadata))
  // LangChain keeps the id in the metadata.
  const id = idOf(document.id, metadata?.id, metadata?._id, metadata?.doc_id)
  const score = numberOf(document.score) ?? numberOf(metadata?.score)
  const content = document.content === undefined ? undefined : textFrom(document.content)
  const chunk: JsonObject = {
    ...(id !== undefined && { id }),
    ...(score !== undefined && { score }),
    ...(content && { content: cutText(content, MAX_CHUNK_BYTES) }),
    ...(metadata && { metadata }),
    ...(content && utf8Length(content) > MAX_CHUNK_BYTES && { truncated: true }),
  }
  return Object.keys(chunk).length > 0 ? chunk : undefined
}

const textFrom = (content: Json): string => (typeof content === 'string' ? content : JSON.stringify(content))

/** Fields that may hold the list of documents. */
const LISTS = [
  'documents',
  'outputs',
  'output',
  'results',
  'matches',
  'chunks',
  'nodes',
  'hits',
  'docs',
  'data',
  'context',
]

/** The chunks in a retriever's output, serialized or not. Undefined if it has none. */
export function retrievedChunks(output: Json | undefined): JsonObject[] | undefined {
  const value = output === undefined ? undefined : parsed(output)
  const chunks = documentsIn(value)
    .map(chunkFrom)
    .filter(chunk => chunk !== undefined)
  return chunks.length > 0 ? chunks : undefined
}

/** The documents in a value, which is a list of documents or an object with such a list in a field. */
export function documentsIn(value: Json | undefined): Json[] {
  // A search for several texts at once returns one list per text.
  if (Array.isArray(value)) return value.flat()
  const list = isJsonObject(value) ? LISTS.map(name => value[name]).find(Array.isArray) : undefined
  return Array.isArray(list) ? list.flat() : []
}

const CONTENTS = ['content', 'page_content', 'pageContent', 'text', 'document', 'chunk', 'body']

function chunkFrom(item: Json): JsonObject | undefined {
  const document = documentOf(item)
  return document && chunkOf(document)
}

/** A document's fields under our names. Undefined if the item isn't a document. */
export function documentOf(item: Json): Chunk | undefined {
  if (typeof item === 'string') return isPrintedObject(item) ? undefined : { content: item }
  if (!isJsonObject(item)) return undefined
  // LangChain serializes a document as a constructor call; LlamaIndex puts it in `node`, next to its score.
  const document = [item.kwargs, item.node, item.document].find(isJsonObject)
  const fields: JsonObject = document === undefined ? item : { ...item, ...document }
  return {
    id: [fields.id, fields._id, fields.id_, fields.doc_id, fields.document_id, fields.chunk_id].find(id => idOf(id)),
    score: [fields.score, fields._score, fields.similarity, fields.relevance_score].find(
      score => numberOf(score) !== undefined,
    ),
    content: CONTENTS.map(name => fields[name]).find(content => typeof content === 'string'),
    metadata: isJsonObject(fields.metadata) ? fields.metadata : (fields.payload ?? undefined),
  }
}
