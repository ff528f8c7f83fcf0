import { Badge, Group, Stack, Text, Title } from '@mantine/core'
import type { PropsWithChildren, ReactNode } from 'react'
import { pathWith } from '../api/client.ts'
import type { SpanSources } from '../api/wire.ts'
import { ScrollBox } from '../json/scroll-box.tsx'
import { ShownText } from '../json/shown-text.tsx'
import { ReadableText } from '../markdown/index.tsx'
import { count } from '../parts/format.ts'
import { TextLink } from '../parts/text-link.tsx'
import { idOfSource } from './citations.ts'
import classes from './sources.module.css'

type SourceChunk = SpanSources['chunks'][number]

/** A span whose sources are shown, and its trace. */
export interface SourcedSpan {
  id: string
  traceId: string
}

/** Retrieved chunks (cited ones first), docs, and the prompt's rules. */
export function SourceList({ span, sources }: { span: SourcedSpan; sources: SpanSources }) {
  const { chunks, chunkCount, docs, prompt, isComplete } = sources
  return (
    <>
      {chunks.length > 0 && (
        <section aria-label="Sources">
          <Title order={3} mb={4}>
            Sources
          </Title>
          <Stack gap="xs">
            {chunks.map((chunk, index) => (
              <Chunk
                key={idOfSource(span.id, index)}
                id={idOfSource(span.id, index)}
                chunk={chunk}
                span={span}
                docs={docs}
              />
            ))}
          </Stack>
          {chunkCount > chunks.length && (
            <Note>
              Showing {count(chunks.length)} of {count(chunkCount)} chunks.
            </Note>
          )}
          {!isComplete && <Note>Only the most likely steps were searched for chunks.</Note>}
        </section>
      )}
      {docs.map(({ id, slug, title, versionId, number, content, truncated }) => (
        <Folded
          key={id}
          label={`Knowledge doc ${slug}`}
          title={<ShownText text={title} />}
          detail={`Version ${number}`}
          href={pathWith(`/knowledge-docs/${id}`, { version: versionId })}
          text={content}
          isTruncated={truncated}
        />
      ))}
      {prompt && (
        <Folded
          label="Prompt"
          title="Prompt"
          detail={`Version ${prompt.number}${prompt.isRecorded ? '' : ', active at the time'}`}
          href={pathWith(`/prompts/${prompt.id}`, { version: prompt.versionId })}
          text={prompt.content}
          isTruncated={prompt.truncated}
        />
      )}
    </>
  )
}

interface ChunkProps {
  id: string
  chunk: SourceChunk
  span: SourcedSpan
  docs: SpanSources['docs']
}

function Chunk({ id, chunk, span, docs }: ChunkProps) {
  const { id: name, title, content, truncated, score, citedAs, docId, spanId, stepId } = chunk
  const doc = docs.find(each => each.id === docId)
  const label = title ?? name ?? stepId
  return (
    <article id={id} className={classes.chunk} tabIndex={-1} aria-label={`Source ${label}`}>
      <Group gap="xs" className={classes.head}>
        <Text span fw={600} size="sm" className={classes.name}>
          {doc ? (
            <TextLink href={pathWith(`/knowledge-docs/${doc.id}`, { version: doc.versionId })}>
              <ShownText text={label} />
            </TextLink>
          ) : (
            <ShownText text={label} />
          )}
        </Text>
        {citedAs.length > 0 && (
          <Badge size="sm" variant="light">
            Cited
          </Badge>
        )}
        {spanId !== span.id && (
          <Text span size="xs">
            from{' '}
            <TextLink href={`/traces/${span.traceId}?span=${spanId}`}>
              <ShownText text={stepId} />
            </TextLink>
          </Text>
        )}
        {score !== null && (
          <Text span size="xs" c="dimmed">
            score {count(score)}
          </Text>
        )}
      </Group>
      <ScrollBox label={`Text of source ${label}`} maxHeight="15rem" length={content.length} className={classes.text}>
        <ReadableText text={content} />
        {truncated && <Note>Only the beginning is shown.</Note>}
      </ScrollBox>
    </article>
  )
}

interface FoldedProps {
  label: string
  title: ReactNode
  detail: string
  href: string
  text: string
  isTruncated: boolean
}

/** Text that opens on request. */
const Folded = ({ label, title, detail, href, text, isTruncated }: FoldedProps) => (
  <section aria-label={label}>
    <details className={classes.folded}>
      <summary>
        <Text span fw={600} size="sm">
          {title}
        </Text>{' '}
        <Text span size="xs" c="dimmed">
          {detail}
        </Text>
      </summary>
      <ScrollBox label={`Text of ${label}`} maxHeight="50vh" length={text.length} className={classes.text}>
        <ReadableText text={text} />
        {isTruncated && <Note>Only the beginning is shown.</Note>}
      </ScrollBox>
      <Text size="xs" className={classes.open}>
        <TextLink href={href}>Open this version</TextLink>
      </Text>
    </details>
  </section>
)

const Note = ({ children }: PropsWithChildren) => (
  <Text size="xs" c="dimmed" mt={4}>
    {children}
  </Text>
)
