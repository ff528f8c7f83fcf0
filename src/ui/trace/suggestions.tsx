import { Button, Stack, Title } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { Link } from 'wouter'
import { pathWith } from '../api/client.ts'
import { useNames } from '../api/names.ts'
import { sessionQuery } from '../api/session.ts'
import type { Span, Suggestion } from '../api/wire.ts'
import { SuggestionCard } from '../feedback/suggestion-card.tsx'
import { useMay } from '../parts/scopes.tsx'
import { deskOf } from '../review/desk.ts'
import { newDraft, suggestedDraft } from '../review/drafts.ts'
import { useErrorTypeNames } from '../session/error-type-names.ts'
import { useProject } from '../session/project.ts'

/** The decisions that agents suggest for a span. */
export function Suggestions({ span }: { span: Span }) {
  const { id, suggestions, review, output, truncated, etag } = span
  const project = useProject()
  const mayReview = useMay('review')
  const typeName = useErrorTypeNames()
  const names = useNames(suggestions.map(({ by }) => by))
  const { data: session } = useQuery(sessionQuery)
  if (suggestions.length === 0) return null
  const fillEditor = (suggestion: Suggestion) => {
    if (!session) return
    const { drafts } = deskOf(session.actorId)
    const draft = drafts.get(id) ?? newDraft(etag)
    drafts.put(id, { ...draft, ...suggestedDraft(suggestion, draft), etag, at: Date.now() })
  }
  return (
    <Stack gap={6} component="section" aria-label="Suggestions">
      <Title order={3}>Suggestions</Title>
      {suggestions.map((suggestion, index) => (
        <SuggestionCard
          key={suggestion.id}
          suggestion={suggestion}
          name={names.get(suggestion.by)}
          errorType={suggestion.errorType === null ? null : typeName(suggestion.errorType)}
          output={output}
          button={
            // A root may show another span's suggestions, but in a format that the other span's editor can't use.
            mayReview === true &&
            review.reviewedBy === null &&
            suggestion.decision !== 'reset' &&
            !truncated.includes(`suggestions.${index}.approvedOutput`) && (
              <Button
                component={Link}
                href={pathWith('/review', { project, span: id })}
                size="compact-xs"
                variant="default"
                onClick={() => fillEditor(suggestion)}
              >
                Use this
              </Button>
            )
          }
        />
      ))}
    </Stack>
  )
}
