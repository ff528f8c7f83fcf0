import * as v from 'valibot'
import { endpoint } from '../api/endpoint.ts'
import { PROJECT_ID } from '../api/story.ts'
import { attributionQuality } from '../domain/attribution-quality.ts'
import { described, timestamp } from '../http/atoms.ts'
import { MAX_COMPARED_DECISIONS } from '../limits.ts'
import { compareAnswers } from '../store/attribution/quality.ts'
import { projectSelector, selectedProject } from './project.ts'

const Share = v.nullable(v.number())
const ByDepth = v.object({
  errorType: Share,
  category: v.pipe(Share, v.metadata({ description: "Compares only the error types' categories" })),
})

const Interval = described(
  v.object({ low: v.number(), high: v.number() }),
  'The 95% interval of the share of answers that agree with reviewers (Wilson, without continuity correction)',
)

/** The filters of the comparison. */
export const comparisonFilters = {
  from: v.optional(timestamp('Only reviews at or after this time')),
  to: v.optional(timestamp('Only reviews before this time')),
  engine: v.optional(described(v.string(), "Only this engine's latest answers")),
  engineVersion: v.optional(described(v.string(), 'Only the latest answers of this version')),
}

export const getAttributionQuality = endpoint({
  family: 'read',
  method: 'GET',
  path: '/api/attribution-quality',
  summary: 'Get attribution quality',
  description: "For each trace, compares the engine's answer with the error type that reviewers named.",
  scope: 'read',
  query: v.strictObject({ ...projectSelector, ...comparisonFilters }),
  errors: { 404: 'Not found' },
  responses: {
    200: v.object({
      reviewed: v.pipe(
        v.number(),
        v.metadata({
          description:
            "The number of traces with an engine's answer and a current review that names an error type. Only the latest answer and review of each trace are compared.",
        }),
      ),
      reviewedIsMinimum: v.pipe(
        v.boolean(),
        v.metadata({
          description: `Whether more than ${MAX_COMPARED_DECISIONS} current reviews name an error type. Only the newest ${MAX_COMPARED_DECISIONS} are compared.`,
        }),
      ),
      agreed: described(
        v.number(),
        'How many of the `reviewed` traces got the same error type from the engine and the reviewer',
      ),
      interval: Interval,
      agreement: v.pipe(
        ByDepth,
        v.metadata({
          description:
            "The share of traces for which the engine and the reviewer agree. Reviewers see the engine's answer, so this is an upper bound on how often the engine is right.",
        }),
      ),
      kappa: v.pipe(
        ByDepth,
        v.metadata({
          description: "Cohen's κ: 1 means full agreement, and 0 means no more than chance. Null if κ is undefined.",
        }),
      ),
      errorTypes: v.array(
        v.object({
          errorType: v.string(),
          answered: v.number(),
          agreed: v.number(),
          precision: v.number(),
          interval: Interval,
          overruled: v.pipe(
            v.array(v.object({ errorType: v.string(), count: v.number() })),
            v.metadata({ description: 'The error types that reviewers named instead' }),
          ),
        }),
      ),
      engines: v.array(
        v.object({
          engine: v.string(),
          version: described(v.string(), 'The version of the rules or, for a model, of the question'),
          reviewed: v.number(),
          agreed: v.number(),
          interval: Interval,
          agreement: ByDepth,
        }),
      ),
      calibration: v.pipe(
        v.array(
          v.object({
            from: v.number(),
            to: v.number(),
            count: v.number(),
            agreed: v.number(),
            meanConfidence: Share,
            agreement: Share,
            interval: Interval,
          }),
        ),
        v.metadata({
          description:
            'Answers grouped by confidence, in ranges of 0.1. If confidence is accurate, reviewers agree with about 80% of the answers whose confidence is 0.8.',
        }),
      ),
    }),
  },
  example: {
    query: { projectId: PROJECT_ID, engine: 'rules' },
    answers: {
      200: {
        reviewed: 200,
        reviewedIsMinimum: false,
        agreed: 140,
        interval: { low: 0.6333, high: 0.7593 },
        agreement: { errorType: 0.7, category: 0.84 },
        kappa: { errorType: 0.492, category: 0.63 },
        errorTypes: [
          {
            errorType: 'hallucinated_content',
            answered: 40,
            agreed: 30,
            precision: 0.75,
            interval: { low: 0.5981, high: 0.8581 },
            overruled: [{ errorType: 'context_misinterpretation', count: 10 }],
          },
        ],
        engines: [
          {
            engine: 'rules',
            version: '2',
            reviewed: 200,
            agreed: 140,
            interval: { low: 0.6333, high: 0.7593 },
            agreement: { errorType: 0.7, category: 0.84 },
          },
        ],
        calibration: [
          {
            from: 0.7,
            to: 0.8,
            count: 40,
            agreed: 30,
            meanConfidence: 0.75,
            agreement: 0.75,
            interval: { low: 0.5981, high: 0.8581 },
          },
        ],
      },
    },
  },
}).handle(async context => {
  const { query, store } = context
  const project = await selectedProject(context, query)
  const { compared, isCut, errorTypes } = await compareAnswers(store, project, query)
  const categoryOf = new Map<string, string>(errorTypes.map(({ errorType, category }) => [errorType, category]))
  const quality = attributionQuality(compared, errorType => categoryOf.get(errorType) ?? errorType)
  return { status: 200, body: { ...quality, reviewedIsMinimum: isCut } }
})
