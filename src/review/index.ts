import type { Endpoint } from '../api/endpoint.ts'
import { assignSpans } from './assign.ts'
import { createComment, deleteComment, updateComment } from './feedback.ts'
import { getProgress } from './progress.ts'
import { claimForReview, getReviewQueue, releaseFromReview, renewReviewClaims } from './queue.ts'
import { listReviews, postReviews, putReview } from './reviews.ts'
import { deleteView, listViews, postView } from './views.ts'

export const review: readonly Endpoint[] = [
  putReview,
  postReviews,
  listReviews,
  createComment,
  updateComment,
  deleteComment,
  getReviewQueue,
  claimForReview,
  renewReviewClaims,
  releaseFromReview,
  assignSpans,
  getProgress,
  listViews,
  postView,
  deleteView,
]
