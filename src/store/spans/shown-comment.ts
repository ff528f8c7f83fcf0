import { cutText, utf8Length } from '../../domain/text.ts'
import { PREVIEW_BYTES } from '../../limits.ts'
import type { ShownMode } from '../traces/payloads.ts'

/** A reviewer's or agent's comment, as shown in a response. `brief` shows only its beginning. */
export const shownComment = (comment: string | null, mode: ShownMode): string | null =>
  isCommentCut(comment, mode) ? cutText(comment ?? '', PREVIEW_BYTES) : comment

export const isCommentCut = (comment: string | null | undefined, mode: ShownMode): boolean =>
  mode === 'brief' && utf8Length(comment ?? '') > PREVIEW_BYTES
