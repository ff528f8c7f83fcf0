import { Dataset, DatasetItem } from './datasets/wire.ts'
import { GateState } from './experiments/gate-state.ts'
import { Experiment, ExperimentItem, ItemResult, Report } from './experiments/wire.ts'
import { BatchResult } from './http/results.ts'
import { Pending } from './ingest/attribute.ts'
import { Attribution } from './ingest/attribution-wire.ts'
import { Feedback as NewFeedback } from './ingest/feedback.ts'
import { Observation } from './ingest/observation-list.ts'
import { Observation as NewObservation } from './ingest/observations.ts'
import { Hit } from './ingest/search.ts'
import { Span as NewSpan } from './ingest/spans.ts'
import { Trace as NewTrace } from './ingest/traces.ts'
import { Entry } from './manage/audit-log.ts'
import { Session } from './manage/session.ts'
import { ApiKey, ApiKeyWithSecret, Project, User } from './manage/wire.ts'
import { PendingSuggestion, Suggestion as PromptSuggestion } from './problems/suggestion-wire.ts'
import { Problem } from './problems/wire.ts'
import { PastAttribution } from './read/attributions.ts'
import { ErrorType } from './read/error-types.ts'
import { Gate } from './read/gate.ts'
import { Group } from './read/groups.ts'
import { Insights } from './read/insights.ts'
import { ReviewPolicy } from './read/review-policy-wire.ts'
import { SpanSources } from './read/sources.ts'
import {
  Guideline,
  KnowledgeDoc,
  KnowledgeDocDetail,
  KnowledgeDocVersion,
  Prompt,
  PromptDetail,
  PromptVersion,
} from './read/text-wire.ts'
import { Turn } from './read/turns.ts'
import { VersionDiff } from './read/version-diff.ts'
import { Watch } from './read/watch.ts'
import { Feedback, ListedTrace, Span, SpanOfTrace, Suggestion, Trace, Vote } from './read/wire.ts'
import { ReviewRecord } from './review/reviews.ts'
import { View } from './review/views.ts'
import { Delivery, Webhook, WebhookWithSecret } from './webhooks/wire.ts'

/* The names of schemas in the OpenAPI document. Client generators use them as type names, so never change one. */

/** Resources as they appear in responses. */
const output = {
  ApiKey,
  ApiKeyWithSecret,
  AttributionPending: Pending,
  AttributionResult: Attribution,
  AuditLogEntry: Entry,
  BatchResult,
  Dataset,
  DatasetItem,
  ErrorType,
  Experiment,
  ExperimentItem,
  ExperimentReport: Report,
  ExperimentResult: ItemResult,
  Feedback,
  Gate,
  GateState,
  Group,
  Guideline,
  Insights,
  KnowledgeDoc,
  KnowledgeDocDetail,
  KnowledgeDocVersion,
  Observation,
  PastAttribution,
  Problem,
  Project,
  Prompt,
  PromptDetail,
  PromptSuggestion,
  PromptSuggestionPending: PendingSuggestion,
  PromptVersion,
  Review: ReviewRecord,
  ReviewPolicy,
  SavedView: View,
  Session,
  Span,
  SpanOfTrace,
  SpanSources,
  Suggestion,
  Trace,
  TraceSearchHit: Hit,
  TraceSummary: ListedTrace,
  Turn,
  User,
  VersionDiff,
  Vote,
  Watch,
  Webhook,
  WebhookDelivery: Delivery,
  WebhookWithSecret,
}

/** The events that ingestion accepts, alone or in a batch. */
const input = { NewFeedback, NewObservation, NewSpan, NewTrace }

export const components = { output, input }
