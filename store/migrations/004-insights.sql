-- Insights as they were last computed: of each environment and length of the period in days. `generated_at`: by the environment's clock.
create table analytics_insights (
  environment int not null references environments,
  period int not null,
  generated_at timestamptz not null,
  result jsonb not null,
  primary key (environment, period)
);
