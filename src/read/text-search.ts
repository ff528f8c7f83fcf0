import * as v from 'valibot'
import { counted } from '../domain/counted.ts'
import { type SoughtText, soughtText } from '../domain/text-search.ts'
import { described, IsoTime, isoTime, text, Uuid } from '../http/atoms.ts'
import {
  INLINE_BYTES,
  KEPT_BYTES,
  MAX_MATCHES,
  MAX_NAME_LENGTH,
  MAX_SEARCHED_BYTES,
  MAX_SEARCHED_ROWS,
  MAX_SEARCHED_TRACES,
  MAX_SOUGHT_LENGTH,
  MIN_SOUGHT_LENGTH,
  PREVIEW_BYTES,
} from '../limits.ts'
import type { Unsearched } from '../store/search/page.ts'
import { MATCHED_FIELDS } from '../store/search/texts.ts'

/* Shared by all lists that can be searched by text. */

/** The query parameter for text to find in the values of `items`. */
export const containsParameter = (items: string) =>
  v.optional(
    v.pipe(
      text(MIN_SOUGHT_LENGTH, MAX_SOUGHT_LENGTH),
      v.metadata({
        description: `${items} that contain this text, ignoring case (Unicode simple case folding)`,
      }),
    ),
  )

export const nameContains = v.optional(
  v.pipe(text(1, MAX_NAME_LENGTH), v.metadata({ description: 'Traces with this text in their name, ignoring case' })),
)

/** Explains in an endpoint's description how its list is searched by text. */
export const SEARCH_DESCRIPTION =
  '`contains` searches the strings and keys of the current input, output, approved output, and state, as well as ' +
  'step IDs and the comments in reviews and feedback. Numbers and replaced values never match. ' +
  `A page looks at up to ${MAX_SEARCHED_TRACES} of the items that match the other filters, or ${MAX_SEARCHED_BYTES / 1024 ** 2} MiB of their values, so it may be short or empty even if more follow.`

/** The fields that a search adds to each item that matches. */
export const matchFields = {
  matches: described(
    v.optional(
      v.array(
        v.object({
          spanId: described(
            Uuid,
            "The span that matches. For the trace's name and for comments on the whole trace, this is the root.",
          ),
          field: v.picklist(MATCHED_FIELDS),
          snippet: described(v.string(), 'About 160 characters around the match, with … where text is cut off'),
        }),
      ),
    ),
    `The first ${MAX_MATCHES} matches. Only in lists with \`contains\`.`,
  ),
}

/** The fields that a search adds to a response. */
export const searchFields = {
  searchedTo: described(
    v.optional(v.nullable(IsoTime)),
    'The time of the last trace (in lists of decisions, the last decision) that this page searched. The next page may continue within that trace. Everything newer has been searched. Null if the search has reached the end. Only with `contains`.',
  ),
  warnings: described(
    v.optional(v.array(v.string())),
    "What wasn't searched for this page. Only with `contains`; empty if everything was searched.",
  ),
}

/** The text to find. Undefined if there's none. */
export const sought = (text: string | undefined): SoughtText | undefined =>
  text === undefined ? undefined : soughtText(text)

/**
 * The fields of a response to a search that covered everything back to `searchedTo` or, if that's undefined, the whole
 * list.
 */
export const searchAnswer = (searchedTo: number | undefined, { beginnings, isLeftOut }: Unsearched) => ({
  searchedTo: searchedTo === undefined ? null : isoTime(searchedTo),
  warnings: [
    ...(beginnings > 0 ? [beginningsWarning(beginnings)] : []),
    ...(isLeftOut
      ? [
          `Not everything was searched: a trace has more than ${MAX_SEARCHED_ROWS} observations or comments, or a span has more than ${MAX_SEARCHED_BYTES / 1024 ** 2} MiB of values`,
        ]
      : []),
  ],
})

const beginningsWarning = (count: number): string =>
  `For ${counted(count, 'value')} over ${INLINE_BYTES / 1024} KiB, only the beginning was searched: ` +
  `the first ${KEPT_BYTES / 1024} KiB, or the first ${PREVIEW_BYTES} bytes of values stored by an earlier release`
