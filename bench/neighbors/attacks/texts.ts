import { randomUUID } from 'node:crypto'
import * as v from 'valibot'
import { MAX_CONTENT_BYTES } from '../../../src/limits.ts'
import type { Client } from '../../client.ts'
import {
  type Attack,
  type Attacks,
  addTrace,
  escapedText,
  idIn,
  PROJECT,
  part,
  span,
  TIMESTAMP,
  textFrom,
  times,
} from '../attack.ts'

const Prompt = v.object({ id: v.string(), versionId: v.string() })

/** Prompts and knowledge docs with many or large versions. */
export const texts: Attacks = share => ({
  'a diff of lines with nothing in common': diffed(
    textFrom(part(share, MAX_CONTENT_BYTES), index => `a${index}\n`),
    textFrom(part(share, MAX_CONTENT_BYTES), index => `b${index}\n`),
  ),
  'a diff of empty lines': diffed(
    '\n'.repeat(part(share, MAX_CONTENT_BYTES)),
    ' \n'.repeat(part(share, MAX_CONTENT_BYTES / 2)),
  ),
  'a diff of the same few lines': diffed(
    textFrom(part(share, MAX_CONTENT_BYTES), index => `${index % 3}\n`),
    textFrom(part(share, MAX_CONTENT_BYTES), index => `${(index * 7) % 5}\n`),
  ),
  'a diff of schemas': diffed('Answer.', 'Answer!', wideSchema(share, 'a'), wideSchema(share, 'b')),
  'a list of large knowledge docs': listed(
    part(share, 100),
    textFrom(part(share, MAX_CONTENT_BYTES), index => `word${index}`),
  ),
  'a list of large prompts': async client => {
    const content = textFrom(part(share, MAX_CONTENT_BYTES), index => `word${index}`)
    for (let index = 0; index < part(share, 100); index++) await addPrompt(client, content)
    return () => client.send('GET', `/api/prompts?${PROJECT}&limit=200`)
  },
  'a list of knowledge docs with control characters': listed(
    part(share, 20),
    escapedText(part(share, MAX_CONTENT_BYTES)),
  ),
  'a prompt with many versions': async client => {
    const { id } = await addPrompt(client, 'Version 0')
    for (let number = 1; number < part(share, 1200); number++) await addVersion(client, id, `Version ${number}`)
    return () => client.send('GET', `/api/prompts/${id}`)
  },
  'a prompt with large versions': async client => {
    const content = textFrom(part(share, MAX_CONTENT_BYTES), index => `word${index}`)
    const { id } = await addPrompt(client, content)
    for (let number = 1; number < part(share, 31); number++)
      await addVersion(client, id, `${number} ${content.slice(10)}`)
    return () => client.send('GET', `/api/prompts/${id}`)
  },
  'a prompt whose versions are control characters': async client => {
    const content = escapedText(part(share, MAX_CONTENT_BYTES - 100))
    const { id } = await addPrompt(client, content)
    // As many versions as fit once their content is escaped as JSON.
    for (let number = 1; number < part(share, 5); number++) await addVersion(client, id, `${number}${content}`)
    return () => client.send('GET', `/api/prompts/${id}`)
  },
  'an export that refers to many versions': async client => {
    const { id, versionId } = await addPrompt(client, 'Version 0')
    const versions = [versionId]
    for (let number = 1; number < part(share, 1200); number++) {
      versions.push(idIn(await addVersion(client, id, `Version ${number}`)))
    }
    const spans = times(part(share, 2000), index => ({
      traceId: randomUUID().replaceAll('-', ''),
      spanId: randomUUID().replaceAll('-', '').slice(16),
      name: 'chat',
      startTimeUnixNano: '1763632800000000000',
      endTimeUnixNano: '1763632801000000000',
      attributes: [
        { key: 'gen_ai.operation.name', value: { stringValue: 'chat' } },
        { key: 'countersign.prompt_version_id', value: { stringValue: versions[index % versions.length] } },
        { key: 'langfuse.observation.prompt.name', value: { stringValue: 'attacked' } },
        { key: 'langfuse.observation.prompt.version', value: { intValue: String(1 + (index % versions.length)) } },
      ],
    }))
    const body = Buffer.from(JSON.stringify({ resourceSpans: [{ scopeSpans: [{ spans }] }] }))
    return () => client.send('POST', '/v1/traces', body)
  },
  'spans with many versions in one trace': async client => {
    const { id, versionId } = await addPrompt(client, 'Version 0')
    const versions = [versionId]
    for (let number = 1; number < part(share, 500); number++) {
      versions.push(idIn(await addVersion(client, id, `Version ${number}`)))
    }
    const spans = times(part(share, 5000), index =>
      span({ prompt_version_id: versions[index % versions.length], output: { index } }),
    )
    const trace = await addTrace(client, spans)
    return () => client.send('GET', `/api/traces/${trace.id}`)
  },
})

function wideSchema(share: number, suffix: string): object {
  const properties = times(part(share, 2000), index => [`${suffix}${index}`, { type: 'string' }])
  return { type: 'object', properties: Object.fromEntries(properties) }
}

async function addPrompt(client: Client, content: string, outputSchema?: object) {
  const stepId = `step-${randomUUID()}`
  const { body } = await client.call('POST', '/api/prompts', { projectSlug: 'bench', stepId, content, outputSchema })
  return v.parse(Prompt, JSON.parse(body))
}

const addVersion = (client: Client, id: string, content: string, outputSchema?: object) =>
  client.call('POST', `/api/prompts/${id}/versions`, { content, outputSchema, note: TIMESTAMP })

function listed(count: number, content: string): Attack {
  return async client => {
    // These names sort before those of other attacks, which start with letters.
    for (const slug of times(count, () => `0-${randomUUID()}`)) {
      await client.call('POST', '/api/knowledge-docs', { projectSlug: 'bench', slug, title: slug, content })
    }
    return () => client.send('GET', `/api/knowledge-docs?${PROJECT}&limit=200`)
  }
}

function diffed(before: string, after: string, schemaBefore?: object, schemaAfter?: object): Attack {
  return async client => {
    const { id, versionId } = await addPrompt(client, before, schemaBefore)
    const next = idIn(await addVersion(client, id, after, schemaAfter))
    return () => client.send('GET', `/api/prompts/${id}/versions/${versionId}/diff/${next}`)
  }
}
