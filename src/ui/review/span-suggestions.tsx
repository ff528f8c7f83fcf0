import { Box, Button, Stack, Title } from '@mantine/core'
import { useNames } from '../api/names.ts'
import type { ErrorTypes, SpanOfTrace, Suggestion } from '../api/wire.ts'
import { SuggestionCard } from '../feedback/suggestion-card.tsx'

interface SpanSuggestionsProps {
  span: SpanOfTrace
  errorTypes: ErrorTypes['errorTypes']
  /** Whether a suggestion can be used now. */
  isUsable: boolean
  onUse: (suggestion: Suggestion) => void
}

/** The decisions that agents suggest for a span. */
export function SpanSuggestions({ span, errorTypes, isUsable, onUse }: SpanSuggestionsProps) {
  const { suggestions, truncated } = span
  const names = useNames(suggestions.map(({ by }) => by))
  if (suggestions.length === 0) return null
  const typeName = (errorType: string | null) =>
    errorTypes.find(each => each.errorType === errorType)?.name ?? errorType
  return (
    <Box component="section" aria-label="Suggestions" mt="lg">
      <Title order={2} mb={4}>
        Suggestions
      </Title>
      <Stack gap="xs">
        {suggestions.map((suggestion, index) => (
          <SuggestionCard
            key={suggestion.id}
            suggestion={suggestion}
            name={names.get(suggestion.by)}
            errorType={typeName(suggestion.errorType)}
            button={
              suggestion.decision !== 'reset' && (
                <Button
                  size="compact-xs"
                  variant="default"
                  disabled={!isUsable || truncated.includes(`suggestions.${index}.approvedOutput`)}
                  onClick={() => onUse(suggestion)}
                >
                  Use this
                </Button>
              )
            }
          />
        ))}
      </Stack>
    </Box>
  )
}
