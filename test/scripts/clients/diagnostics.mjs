// Loaded before a client's program, so that it prints what its exporter complains about.
import { DiagConsoleLogger, DiagLogLevel, diag } from '@opentelemetry/api'

diag.setLogger(new DiagConsoleLogger(), DiagLogLevel.WARN)
